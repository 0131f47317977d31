"""The use cases: plain functions over `Services`, for the library, the HTTP service, the worker and the commands.

    async with open_services(load_settings()) as services:
        await entry_writes.add_user_message(NamespaceHandle(services, "default"), "session-1", "Hello")

`services` wires all parts, once per store. The first argument of every use case is a `NamespaceHandle`: the services
for one namespace and one actor. The other arguments are the public signature, which `MemoryLedger` lists.
"""
