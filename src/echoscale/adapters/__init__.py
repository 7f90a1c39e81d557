"""The same models behind the interfaces of other libraries, each in a file of its own that needs that library."""
