"""Google ADK is not beside the other tests: it wants an OpenTelemetry that is older than theirs."""

NOT_INSTALLED = "google-adk is not installed here; `make test-adapters` installs it apart, and runs these tests"
