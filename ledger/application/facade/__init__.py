"""The methods of the library: loaded when first used, also without `await`."""
