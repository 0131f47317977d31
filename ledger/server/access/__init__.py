"""Who calls, and what they may do: tokens, JWTs, logins in a browser, requests through proxies."""
