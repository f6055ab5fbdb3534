"""Authors' tools: measuring, fitting, writing notebooks and slides. No notebook imports them."""
