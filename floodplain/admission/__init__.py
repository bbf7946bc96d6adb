"""Admission, the part that decides: an annotated pod or Job in, a patch or a refusal out. Pure.

Read from `review` (the API server's words) through `decide` (what happens) to `annotations`, `pod` and `places` (what
the object says) and `sized` (what a plan makes of it). Serving it is `floodplain.service`.
"""
