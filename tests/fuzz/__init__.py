"""Random descriptions through the loader and the renderer: `make fuzz` runs many, `make test` some."""
