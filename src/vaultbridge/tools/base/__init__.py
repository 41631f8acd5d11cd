"""What every tool is built from: catalog, schema, arguments, context, answers."""
