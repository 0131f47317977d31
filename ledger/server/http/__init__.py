"""What every route shares: bodies, arguments, errors, limits of a request, the OpenAPI document."""
