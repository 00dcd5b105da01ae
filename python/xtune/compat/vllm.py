# SPDX-License-Identifier: Apache-2.0
"""Tables of vLLM's fused mixture-of-experts kernel: `xtune store export --format vllm-moe`, `xtune import vllm-moe`."""
import json
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
    """The specs of tables (files), or the tables of winners."""
    return imported(request) if "files" in request else exported(request, warnings)


# Tables as a spec.


def named_pairs(pairs):
    """--map VLLM_NAME=NAME."""
    names = {}
    for pair in pairs:
        name, _, own = pair.partition("=")
        if not name or not re.fullmatch(r"[A-Za-z_]\w*", own, re.ASCII):
            raise Refused(f"--map {cut(pair)}: write --map VLLM_NAME=NAME, for example --map BLOCK_SIZE_M=BM")
        names[name] = own
    return names


def without_repetition(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def table_of(file):
    """The problem sizes in a file's name, its device, and its rows: a configuration for each batch size."""
    path, name = file["path"], re.sub(r"\.json$", "", file["path"].rpartition("/")[2])
    parts = dict(part.split("=", 1) for part in re.split(r",(?=\w+=)", name) if "=" in part)
    sizes = {size: int(text) for size, text in parts.items() if re.fullmatch(r"[0-9]{1,18}", text)}
    if not sizes:
        raise Refused(
            f"{path}: the name of a table says its problem, as in E=8,N=7168,device_name=NVIDIA_H200.json: "
            "keep the name that vLLM gave it"
        )
    try:
        table = json.loads(file["text"], object_pairs_hook=without_repetition)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path}: not JSON: {error}") from None
    rows = {}
    for batch, config in table.items() if isinstance(table, dict) else []:
        if batch == "triton_version":
            continue
        if not re.fullmatch(r"[0-9]{1,18}", batch) or not isinstance(config, dict) or not config:
            raise Refused(
                f"{path}: '{cut(batch)}': expected a batch size with a configuration, such as "
                '"64": {"BLOCK_SIZE_M": 16, ...}'
            )
        for name, value in config.items():
            if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or type(value) not in (int, bool):
                raise Refused(f"{path}: '{batch}': '{cut(name)}' is {cut(json.dumps(value))}; expected a whole number")
        rows[int(batch)] = config
    if not rows:
        raise Refused(f"{path}: the table has no configuration", "nothing_valid")
    return sizes, parts.get("device_name", "an unknown device"), rows


def imported(request):
    """A spec whose cases are the batch sizes of the tables, and whose configurations are those of the tables."""
    names, cases, configs, origins = named_pairs(request["map"]), {}, {}, []
    known = set()
    for file in request["files"]:
        sizes, device, rows = table_of(file)
        known |= {*sizes, "M", *(name for row in rows.values() for name in row)}
        origins.append(f"{file['path'].rpartition('/')[2]} ({device})")
        for batch, row in rows.items():
            case = {names.get(name, name): value for name, value in {**sizes, "M": batch}.items()}
            config = {names.get(name, name): value for name, value in row.items()}
            first = next(iter(configs.values()), config)
            lacking = min(first.keys() ^ config.keys(), default=None)
            if lacking is not None:
                raise Refused(
                    f"{file['path']}: '{batch}': '{lacking}' is in some of the configurations only: import tables with "
                    "the same parameters, or write it in each"
                )
            if len({**case, **config}) < len(sizes) + 1 + len(row):
                raise Refused(f"{file['path']}: two names of the table are one in the spec: choose others with --map")
            cases[tuple(case.items())] = case
            configs[tuple(config[name] for name in first)] = {name: config[name] for name in first}
    for name in names.keys() - known:
        raise Refused(f"--map {cut(name)}={names[name]}: the tables have no such name{did_you_mean(name, known)}")
    if len({frozenset(case) for case in cases.values()}) > 1:
        raise Refused("the names of the tables have different problem sizes: import them one by one")
    return [spec_of(request["stem"], origins, list(cases.values()), list(configs.values()))]


def spec_of(stem, origins, cases, configs):
    def lines(bindings):
        return "".join(f"{name} = {value_text(value)}\n" for name, value in bindings.items())

    def values(name):
        return ", ".join(value_text(value) for value in sorted({row[name] for row in configs}))

    kernel = re.sub(r"[^A-Za-z0-9_.+-]", "_", stem[:100])
    text = "# Configurations that vLLM tuned:\n"
    text += "".join("#   " + re.sub(r"[\x00-\x1f\x7f]", " ", origin) + "\n" for origin in origins)
    text += (
        "# Add the kernel: [kernel] source, [launch], [[args]] and [validate]. Without the line `configs`, the search\n"
        "# covers every combination of the values; what was measured before is then taken from the store.\n"
        f'[kernel]\nname = "{kernel}"\n\n[problem]\n{lines(cases[0])}\n'
        f'[space]\nconfigs = "{stem}.configs.csv"\n\n[space.params]\n'
    )
    text += "".join(f"{name} = [{values(name)}]\n" for name in configs[0])
    text += "".join(f"\n[[cases]]\n{lines(case)}" for case in cases)
    table = [",".join(configs[0])] + [",".join(map(value_text, row.values())) for row in configs]
    return {"stem": stem, "kernel": kernel, "spec": text, "configs": "\n".join(table) + "\n"}


# Winners as tables.


def exported(request, warnings):
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
