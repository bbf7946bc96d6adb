"""`floodplain doctor`: what of a live cluster keeps a job's peak from being held, and what to do about it.

`observe` and `aws` read (Edge); everything else is a pure function of what was seen.
"""
