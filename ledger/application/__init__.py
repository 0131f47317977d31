"""The use cases: plain functions over `Services`, called by the library, the HTTP service, the worker and the commands.

    async with open_services(load_settings()) as services:
        await entries.add_user_message(services.handle("default"), "session-1", "Hello")

`services` wires everything, once per store. A `NamespaceHandle` is the services as one actor sees them in one
namespace: the first argument of every use case. What follows it is the public signature; `MemoryLedger` only lists
them.
"""
