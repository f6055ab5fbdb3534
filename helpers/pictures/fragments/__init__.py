"""Who holds which element: the lanes that the simulator gave, one of them framed, or a learner's map beside them."""
