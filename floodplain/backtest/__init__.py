"""`floodplain backtest`: what our plans would have done to jobs that ran before.

`from_cluster` reads (Edge); everything else is a pure function of what is known of those jobs.
"""
