"""The source of a kernel with its costs, line by line: which line costs?"""
