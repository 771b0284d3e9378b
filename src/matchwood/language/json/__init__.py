"""The JSON form of a rule to tree, and back.

form            nodes: `to_json` and `from_json`
json_operands   what stands beside a comparison or in a call
location        the position of an error in JSON text
"""
