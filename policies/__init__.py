"""Rules over rendered resources: the last look before anything is created, however it was written.

The rules live in `policies.rules` and can be imported by anybody. The pack is in `policies/__main__.py` only,
because building a `PolicyPack` starts a server and never returns.
"""
