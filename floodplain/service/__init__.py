"""The sizing service: plans over HTTP, and a page for people. Admission of pods is `admission_app` here."""
