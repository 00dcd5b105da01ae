# SPDX-License-Identifier: Apache-2.0
"""Tables of vLLM's fused mixture-of-experts kernel: `xtune store export --format vllm-moe`."""
import re

from ._text import Refused, bindings_text, cut, did_you_mean, value_text

SIZES = ("E", "N", "M")
# In the order of vLLM's own files.
NEEDED = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
EXTRAS = ("SPLIT_K", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "USE_TMA")


def title(winner):
    return f"{cut(winner['kernel'])} on {cut(winner['arch'])}, {bindings_text(winner['problem'])}"


def whole(value, name, winner):
    if type(value) is not int:
        raise Refused(
            f"{title(winner)}: '{cut(name)}' is {cut(value_text(value))}; vLLM's tables hold only whole numbers"
        )
    return value


def required(bindings, name, names, what, winner):
    own = names.get(name, name)
    if own not in bindings:
        raise Refused(
            f"{title(winner)}: vLLM's table needs the {what} '{cut(own)}', which this kernel does not have"
            f"{did_you_mean(own, bindings)}; --map {name}=NAME names the kernel's own"
        )
    return whole(bindings[own], own, winner)


def device_name(name):
    """As vLLM's get_config_file_name forms it."""
    name = name.replace(" ", "_")
    return "NVIDIA_H200" if "H200" in name.split("_") else name.replace("/", "_")


def answer(request, warnings):
    """vLLM's tables by the names that vLLM looks for: one for each E, N and device, with a configuration for each M. map:
    vLLM's name of a size or parameter -> the kernel's own; others are equal."""
    names, dtype, block_shape = request["map"], request["dtype"], request["block_shape"]
    for name, own in names.items():
        if name not in SIZES + NEEDED + EXTRAS:
            raise Refused(
                f"--map {cut(name)}={cut(own)}: vLLM's tables have no such name"
                f"{did_you_mean(name, SIZES + NEEDED + EXTRAS)}"
            )
    if block_shape and not re.fullmatch(r"0*[1-9]\d{0,17},0*[1-9]\d{0,17}", block_shape, re.ASCII):
        raise Refused(f"--block-shape '{cut(block_shape)}': write two numbers, for example 128,128")
    if re.search("[/,=]", dtype):
        raise Refused(f"--dtype '{cut(dtype)}': write a word of vLLM, for example fp8_w8a8")
    tables, unused = {}, set()
    for winner in request["winners"]:
        experts, width, batch = (required(winner["problem"], name, names, "problem size", winner) for name in SIZES)
        file = f"E={experts},N={width},device_name={device_name(winner['device'])}"
        file += f",dtype={dtype}" * bool(dtype)
        file += f",block_shape=[{','.join(str(int(one)) for one in block_shape.split(','))}]" if block_shape else ""
        other = tables.setdefault(file + ".json", {}).setdefault(batch, winner)
        if other is not winner:
            raise Refused(
                f"two winners belong to M = {batch} of {cut(file + '.json', 200)}: {title(other)} and "
                f"{title(winner)}. Select one with --kernel, --arch or -D"
            )
    for table in tables.values():
        for batch, winner in sorted(table.items()):
            config = winner["config"]
            del table[batch]
            row = table[str(batch)] = {name: required(config, name, names, "parameter", winner) for name in NEEDED}
            for name in EXTRAS:
                own = names.get(name, name)
                if own in config:
                    row[name] = config[own] if isinstance(config[own], bool) else whole(config[own], own, winner)
            unused |= config.keys() - {names.get(name, name) for name in row}
    warnings += [f"the parameter '{cut(name)}' is not in the table: vLLM does not know it" for name in sorted(unused)]
    return dict(sorted(tables.items()))
