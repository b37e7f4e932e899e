#!/usr/bin/env python3
"""Compares the public functions of the core with what the gate can reach.

names.py DOCUMENTATION SYMBOLS: the core's documentation as JSON, and the demangled symbols of a gate that was built without
optimisation and without anything that its exported functions cannot reach. Prints the functions that are missing, and how
many there are; fails if any is missing. Derived implementations are left out: they are the compiler's.
"""

import json
import re
import sys


def type_name(of):
    """The last word of a type's name, as symbols show it."""
    if "resolved_path" in of:
        return of["resolved_path"]["path"].split("::")[-1]
    if "borrowed_ref" in of:
        return "&mut"
    if "array" in of:
        return "; "
    if "slice" in of:
        return "["
    raise SystemExit(f"names: a type of a kind that is new: {of}")


def public_functions(items):
    """(name for people, pattern of its symbol) of each function that is written in the core and can be called."""
    seen = set()

    def functions(ids):
        for i in ids:
            seen.add(str(i))
            if "function" in items[str(i)]["inner"]:
                yield items[str(i)]["name"], items[str(i)]["inner"]["function"]

    for item in items.values():
        inner = item["inner"]
        if item["crate_id"] != 0:
            continue
        if "impl" in inner:
            block = inner["impl"]
            if "automatically_derived" in item["attrs"]:
                seen.update(str(i) for i in block["items"])
            if block["is_synthetic"] or block["blanket_impl"] or "automatically_derived" in item["attrs"]:
                continue
            of = type_name(block["for"])
            named = re.escape(of) if of in ("&mut", "; ", "[") else rf"\b{of}\b"
            if block["trait"]:
                trait = block["trait"]["path"].split("::")[-1]
                for name, _ in functions(block["items"]):
                    yield f"<{of} as {trait}>::{name}", rf"<.*{named}.* as .*\b{trait}\b.*>::{name}\b"
            else:
                for name, _ in functions(block["items"]):
                    yield f"{of}::{name}", rf"^<evserver_core::[a-z_:]*\b{of}\b.*>::{name}\b"
        elif "trait" in inner:
            for name, function in functions(inner["trait"]["items"]):
                if function["has_body"]:
                    yield f"{item['name']}::{name} as provided", rf" as evserver_core::.*\b{item['name']}\b.*>::{name}\b"
    for i, item in items.items():
        if item["crate_id"] == 0 and "function" in item["inner"] and i not in seen:
            yield item["name"], rf"^evserver_core::[a-z_:]*\b{item['name']}\b"


def main():
    documentation, symbols = sys.argv[1:]
    items = json.load(open(documentation))["index"]
    reached = [line for line in open(symbols).read().splitlines() if "evserver_core" in line]
    wanted = sorted(set(public_functions(items)))
    # The patterns follow the shape of the documentation and of the symbols; should one change, this says so.
    if len(wanted) < 80 or len(reached) < 80:
        raise SystemExit(f"names: {len(wanted)} public functions and {len(reached)} symbols are too few to be all")
    missing = [name for name, pattern in wanted if not any(re.search(pattern, symbol) for symbol in reached)]
    for name in missing:
        print(f"the gate does not reach {name}")
    print(f"{len(wanted) - len(missing)} of {len(wanted)} public functions of the core are reached")
    return bool(missing)


sys.exit(main())
