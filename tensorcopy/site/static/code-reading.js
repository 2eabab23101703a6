/* Reads pasted code: a chain of known calls on one tensor. Draws nothing.

What a call does is what was observed of a method of the registry, or stands in tensorcopy/site/pages/steps.toml. What is in neither is not
guessed: it is an error that names it. */
"use strict";

const tensorCode = (() => {
  const TOKEN = /#[^\n]*|\n|[^\S\n]+|[\p{L}_][\p{L}\p{N}_]*|\d[\w.]*|"[^"\n]*"|'[^'\n]*'|./gu;
  const NAME = /^[\p{L}_]/u, LITERAL = /^(["'\d]|True$|False$|None$)/;
  const KEYWORDS = /^(and|assert|async|await|class|def|del|else|for|if|in|is|lambda|not|or|try|while|with)$/;
  const IN_PLACE = "requires_grad_"; // what changes the tensor that it is called on
  const OTHER_NAMES = { numpy: { name: "np" }, deepcopy: { of: { name: "copy" }, attribute: "deepcopy" } };
  const MODULES = ["torch", "np", "copy"], DEVICES = /^(cpu|cuda|mps|xpu)(:\d+)?$/;
  const DTYPES = ["float16", "float32", "float64", "int32", "int64"], NUMPY_LACKS = ["bfloat16"];
  const OTHER_DTYPES = { float: "float32", double: "float64", half: "float16", long: "int64", int: "int32" };
  const FORMATS = { "torch.contiguous_format": true, "torch.preserve_format": false };
  const KINDS = { dtype: "dtype", device: "device", memory_format: "format", copy: "boolean", non_blocking: "boolean", requires_grad: "boolean" };

  /** Return an error of the reader; `text` is the name of a text for it, which has places for `values`. */
  const notKnown = (text, values) => Object.assign(new Error(text), { text, values });

  /** Return what a function returns; null where it meets what is not known. */
  function attempt(act) {
    try {
      return act();
    } catch (error) {
      if (!error.text) throw error;
      return null;
    }
  }

  /* ---- from text to calls ---- */

  /** Parse assignments and expressions to the last one's tree of names, attributes, indices, calls and literals. */
  function parsed(text) {
    const tokens = [], assigned = {}, inPlace = [];
    let depth = 0, at = 0, last = null;
    for (const [token] of text.matchAll(TOKEN)) {
      depth += "([{".includes(token) - ")]}".includes(token);
      if (token === "\n" ? depth <= 0 : !/^[#\s]/.test(token)) tokens.push(token);
    }
    const unread = () => notKnown("code_unread", { code: tokens[at] ?? "…" });
    const take = (token) => {
      if (tokens[at] !== token) throw unread();
      at++;
    };
    const ends = () => at >= tokens.length || tokens[at] === "\n" || tokens[at] === ";";
    const atom = () => {
      const token = tokens[at] ?? "";
      if (token === "(") {
        at++;
        const inner = expression();
        take(")");
        return inner;
      }
      if (LITERAL.test(token)) return at++, { literal: token.replace(/^'(.*)'$/, '"$1"') };
      if (!NAME.test(token) || KEYWORDS.test(token)) throw unread();
      at++;
      return Object.hasOwn(assigned, token) ? assigned[token] : Object.hasOwn(OTHER_NAMES, token) ? OTHER_NAMES[token] : { name: token };
    };
    const call = (of) => {
      const node = { call: of, positional: [], named: Object.create(null) };
      while (tokens[at] !== ")") {
        if (NAME.test(tokens[at] ?? "") && tokens[at + 1] === "=") {
          const name = tokens[at];
          at += 2;
          node.named[name] = expression();
        } else node.positional.push(expression());
        if (tokens[at] !== ")") take(",");
      }
      take(")");
      return node;
    };
    const index = (of) => {
      const start = at;
      for (let open = 1; open; at++) {
        if (at >= tokens.length) throw unread();
        open += "([{".includes(tokens[at]) - ")]}".includes(tokens[at]);
      }
      return { of, index: `[${tokens.slice(start, at).join("")}` };
    };
    const expression = () => {
      let node = atom();
      for (;;) {
        const token = tokens[at++];
        if (token === "." && NAME.test(tokens[at] ?? "")) {
          node = { of: node, attribute: tokens[at++] };
          if (node.attribute === IN_PLACE) inPlace.push(node);
        }
        else if (token === "(") node = call(node);
        else if (token === "[") node = index(node);
        else return at--, node;
      }
    };
    let kept = true;
    while (at < tokens.length) {
      if (ends()) { at++; continue; }
      if (tokens[at] === "import" || tokens[at] === "from") { while (!ends()) at++; continue; }
      if (!kept) throw notKnown("code_unread", { code: written(last) }); // it may change the tensor
      if (tokens[at] === "return") at++;
      const name = NAME.test(tokens[at]) && tokens[at + 1] === "=" ? tokens[at] : "";
      if (name) at += 2;
      last = expression();
      if (name) assigned[name] = last = { ...last, alias: name };
      kept = name !== "" || (tokens[at] === "=" && Boolean(last.attribute) && !called(last));
      if (kept && !name) {
        at++; // of self.y = …
        last = expression();
      }
      if (!ends()) throw unread();
    }
    for (const call of inPlace) if (!within(last, call)) throw notKnown("code_unread", { code: `.${IN_PLACE}()` });
    return last;
  }

  /** Write a tree in one form; `value` is written as `name`. */
  function written(node, value, name = "x") {
    if (value && (node === value || (!called(node) && !called(value) && written(node) === written(value)))) return name;
    const part = (inner) => written(inner, value, name);
    if (node.call) {
      const named = Object.keys(node.named).sort().map((key) => `${key}=${part(node.named[key])}`);
      return `${part(node.call)}(${[...node.positional.map(part), ...named].join(", ")})`;
    }
    return node.attribute ? `${part(node.of)}.${node.attribute}` : node.index ? part(node.of) + node.index : node.name ?? node.literal;
  }

  const within = (tree, node) => tree === node || [tree.of, tree.call, ...(tree.positional ?? [])].some((part) => part && within(part, node));
  const called = (node) => Boolean(node && (node.call || called(node.of)));

  /** Return the value that `_` stands for where a tree has the form of a pattern, and the arguments that it has besides; null elsewhere. */
  function matched(pattern, tree) {
    const found = { value: null, positional: [], named: {} };
    const same = (form, node, outermost) => {
      if (form.name === "_") {
        if (MODULES.includes(node.name)) return false;
        found.value ??= node;
        return found.value === node || (!called(node) && written(found.value) === written(node)); // a call in two places is made twice
      }
      if (form.attribute) return form.attribute === node.attribute && same(form.of, node.of);
      if (!form.call) return "name" in form ? form.name === node.name : form.literal === node.literal;
      if (!node.call || !same(form.call, node.call) || node.positional.length < form.positional.length) return false;
      const besides = node.positional.slice(form.positional.length), others = Object.keys(node.named).filter((name) => !form.named[name]);
      if (!form.positional.every((each, place) => same(each, node.positional[place]))) return false;
      if (!Object.entries(form.named).every(([name, each]) => node.named[name] && same(each, node.named[name]))) return false;
      if (!outermost && besides.length + others.length) return false;
      if (outermost) Object.assign(found, { positional: besides, named: Object.fromEntries(others.map((name) => [name, node.named[name]])) });
      return true;
    };
    return same(pattern, tree, true) ? found : null;
  }

  /* ---- from calls to what they return ---- */

  class Reader {
    /** `data` is what the chooser writes: steps, methods, times and answers. */
    constructor(data) {
      Object.assign(this, data);
      this.patterns = Object.entries(data.steps).flatMap(([kind, steps]) =>
        Object.entries(steps).map(([code, rule]) => ({ kind, rule, tree: parsed(code), takes: rule.takes ?? [] })));
      this.names = Object.fromEntries(this.devices.map((device) => [device, new Map()]));
      for (const [name, { code, there }] of Object.entries(data.methods)) {
        for (const device of this.devices) this.names[device].set(normalized(device === "cpu" ? code : there ?? code), name);
      }
      for (const [name, { code }] of Object.entries(data.methods)) {
        // a method whose calls are not steps is one step, which ends a chain
        const tree = attempt(() => this.chain(code)) ? null : attempt(() => parsed(code.replace(/\bx\b/g, "_")));
        if (tree && called(tree)) this.patterns.push({ kind: "tensor", rule: { as: name, ends: true }, tree, takes: [] });
      }
    }

    /** Return the calls of a text on its tensor, the first one first; null for a text without code. */
    chain(text) {
      let tree = parsed(text);
      if (!tree) return null;
      const whole = tree, steps = [];
      for (let step; (step = this.stepOf(tree)); tree = step.value) steps.unshift(step);
      for (let base = tree; !tree.alias && (base.name === undefined || MODULES.includes(base.name)); base = base.of) {
        if (!base.of) throw notKnown("code_unknown", { code: labelOf(tree) });
      }
      for (const step of steps) step.given = this.argumentsOf(step, tree);
      return { steps, tensor: tree.alias ?? written(tree), code: written(whole, tree) };
    }

    /** Return the outermost call of a tree with the rules for it, by kind of value; undefined where none is known. */
    stepOf(tree) {
      const rules = {}, label = labelOf(tree);
      let found, unknown;
      for (const pattern of this.patterns) {
        const match = matched(pattern.tree, tree);
        if (!match) continue;
        const other = Object.keys(match.named).find((name) => !pattern.takes.includes(name));
        unknown ||= other ? `${other}=${written(match.named[other])}` : match.positional.length && !pattern.takes.length && written(match.positional[0]);
        if (other || (match.positional.length && !pattern.takes.length)) continue;
        found ??= { ...match, takes: pattern.takes };
        rules[pattern.kind] ??= pattern.rule;
      }
      if (unknown && !found) throw notKnown("code_argument", { code: label, argument: unknown });
      const before = tree.call?.of; // of torch.empty_like(x).copy_(x)
      const name = found && called(before) && before !== found.value ? labelOf(before) + label : label;
      return found && { ...found, rules, label: name, of: (inner) => written(tree, found.value, inner) };
    }

    /** Return the arguments of a step by name. */
    argumentsOf({ positional, named, takes, label, value: of }, tensor) {
      const given = {}, places = takes.includes("*") ? takes.slice(0, takes.indexOf("*")) : takes;
      const set = (name, node) => {
        const [kind, value] = meaningOf(node, tensor, of, label);
        name ??= places.find((place) => !(place in given) && KINDS[place] === kind);
        if (!name || KINDS[name] !== kind || name in given) throw notKnown("code_argument", { code: label, argument: written(node) });
        given[name] = value;
      };
      for (const node of positional) set(undefined, node);
      for (const [name, node] of Object.entries(named)) set(name, node);
      return given;
    }

    /** Return a tensor x before any call. */
    tensor({ device, grad, contiguous }) {
      const value = { gives: "tensor", shares: true, itself: true, graph: grad, grad, leaf: true, device, home: device, dtype: "float32", contiguous };
      return { ...value, rounded: false, warns: [], raises: "", copies: false, same: true };
    }

    /** Return what a method that was observed makes of a value. */
    observed(value, method, code, rule = {}) {
      const row = this.methods[method]?.observed[value.device];
      if (!row) throw notKnown("code_not_observed", { code, device: value.device });
      const seen = { ...this.outcome, ...row[value.grad ? "with_grad" : "plain"] }, leaf = { ...this.outcome, ...row.with_grad };
      const isTensor = seen.gives === "tensor", kept = value.grad && Boolean(seen.keeps_graph);
      const raises = seen.raises || (value.grad && !value.leaf && rule.in_graph) || "";
      if (raises) return { ...value, gives: "error", raises };
      const same = leaf.shares_storage === true && leaf.keeps_graph === true && leaf.is_leaf === true && isTensor;
      return {
        gives: seen.gives,
        shares: value.shares && seen.shares_storage,
        itself: value.itself && same,
        graph: value.graph && kept,
        grad: isTensor && seen.requires_grad,
        leaf: isTensor && (kept ? value.leaf && seen.is_leaf : seen.is_leaf),
        device: seen.device === "same" ? value.device : seen.device,
        home: value.home,
        dtype: seen.dtype === "same" ? value.dtype : seen.dtype,
        contiguous: value.contiguous || seen.layout === "contiguous",
        rounded: value.rounded || Boolean(seen.changes),
        warns: seen.warns ? [...value.warns, seen.warns] : value.warns,
        raises: "",
        copies: !seen.shares_storage,
        same,
      };
    }

    /** Return what a step makes of a value. */
    after(value, step) {
      const rule = step.rules[value.gives], given = step.given;
      const notFor = (what) => notKnown("code_unknown_of", { code: step.label, what });
      if (!rule || value.ends) throw notFor(value.ends ?? value.gives);
      const copied = (of) => ({ ...of, shares: false, itself: false, copies: true, same: false, leaf: of.leaf && !of.grad });
      let result = { ...value, copies: false, same: true };
      if (rule.as) result = this.observed(value, rule.as, step.label, rule);
      else if (rule.does === "view") result = { ...result, itself: false, same: false };
      else if (rule.does === "copy" || (rule.does === "contiguous" && !value.contiguous)) result = copied(result);
      if (result.raises) return result;
      if (rule.ends) result.ends = step.label;
      if (rule.gives === "tensor") Object.assign(result, { gives: "tensor", leaf: true });
      if (rule.does === "contiguous" || rule.layout || given.memory_format) result.contiguous = true;
      const device = { home: value.home, own: value.device }[given.device] ?? given.device ?? value.device;
      if (device !== value.device) {
        if (device !== "cpu") throw notFor(device);
        if (given.non_blocking) throw notKnown("code_argument", { code: step.label, argument: "non_blocking=True" });
        result = this.observed(value, "cpu", step.label);
      }
      if (given.copy && !result.copies) result = copied(result);
      const dtype = given.dtype ?? rule.dtype ?? result.dtype;
      if (dtype !== result.dtype) {
        result = { ...copied(result), dtype, rounded: result.rounded || !["float32", "float64"].includes(dtype) };
        if (!dtype.includes("float")) Object.assign(result, { graph: false, grad: false, leaf: result.gives === "tensor" });
      }
      if (result.gives === "ndarray" && NUMPY_LACKS.includes(value.dtype)) throw notFor(value.dtype);
      if ("requires_grad" in given || step.label === `.${IN_PLACE}()`) {
        const wanted = given.requires_grad ?? true;
        if ((wanted && !dtype.includes("float")) || (!wanted && result.grad && !result.leaf)) throw notFor(wanted ? dtype : "non-leaf");
        Object.assign(result, { grad: wanted, graph: wanted && (result.itself || result.graph) });
      }
      return result;
    }

    /** Return the value before the chain and after each of its steps; an error ends it. */
    values(chain, circumstances) {
      const values = [this.tensor(circumstances)];
      for (const step of chain.steps) if (!values.at(-1).raises) values.push(this.after(values.at(-1), step));
      return values;
    }

    /** Return what the whole chain returns: as it was observed where it is a method of the registry, else by its steps. */
    result(chain, circumstances) {
      const method = this.names[circumstances.device].get(chain.code);
      const seen = this.methods[method]?.observed[circumstances.device]; // some are observed on one device only
      return seen ? this.observed(this.tensor(circumstances), method, chain.code) : this.values(chain, circumstances).at(-1);
    }

    /* ---- what it costs, and what does the same ---- */

    /** Return the measured time of code that takes a value, in nanoseconds, and how it was measured; else the sizes at which it was.

    A call that copies nothing takes as long for any number of elements: its time may be that of another one. */
    time(code, value, copies, numel) {
      if (value.gives !== "tensor" || value.dtype !== "float32") return { code, sizes: [] };
      const times = this.times[value.device]?.[this.names[value.device]?.get(code)] ?? {};
      const timedWithGrad = value.grad && Object.keys(times.with_grad ?? {}).length > 0;
      const bySize = (timedWithGrad ? times.with_grad : times.plain) ?? {};
      const sizes = Object.keys(bySize).map(Number).sort((a, b) => Math.abs(Math.log(a / numel)) - Math.abs(Math.log(b / numel)));
      if (!sizes.length || (copies && sizes[0] !== numel)) return { code, sizes: sizes.sort((a, b) => a - b) };
      return { code, ns: bySize[sizes[0]], numel: sizes[0], withoutGrad: value.grad && !timedWithGrad };
    }

    /** Return the measured parts of a chain, the fewest, and the calls that were not measured.

    Calls that return what they get are parts of their own: without them the others may have been measured together. */
    cost(chain, circumstances, numel, whole = true) {
      const values = this.values(chain, circumstances), parts = [], missing = [];
      const steps = chain.steps.slice(0, values.length - 1).map((step, place) => ({ ...step, from: values[place], to: values[place + 1] }));
      const changing = steps.filter((step) => !step.to.same), unchanged = steps.filter((step) => step.to.same);
      const copies = (calls) => calls.some((step) => step.to.copies), all = this.time(chain.code, values[0], copies(steps), numel);
      if (whole && !all.ns && all.sizes.length) return { parts, missing: [all], total: 0 };
      let first = whole ? changing.length : changing.length - 1;
      for (; first > 0; first--) {
        const code = changing.slice(0, first).reduce((inner, step) => step.of(inner), "x");
        const part = this.time(code, values[0], copies(changing.slice(0, first)), numel);
        if (!part.ns) continue;
        parts.push(part);
        break;
      }
      for (const step of [...changing.slice(Math.max(0, first)), ...unchanged]) {
        const part = this.time(step.of("x"), step.from, step.to.copies, numel);
        (part.ns ? parts : missing).push({ ...part, code: first > 0 || step !== steps[0] ? step.label : part.code });
      }
      return { parts, missing, total: parts.reduce((sum, part) => sum + part.ns, 0) };
    }

    /** Return the ratios of sums of parts to the time of the whole, of the methods of several calls. */
    get sums() {
      const ratios = [], circumstances = { device: "cpu", grad: false, contiguous: true };
      for (const [name, { code }] of Object.entries(this.methods)) {
        const chain = attempt(() => this.chain(code));
        for (const [numel, ns] of Object.entries((chain && this.times.cpu?.[name]?.plain) ?? {})) {
          const { parts, missing, total } = this.cost(chain, circumstances, Number(numel), false);
          if (parts.length > 1 && !missing.length) ratios.push(total / ns);
        }
      }
      return ratios;
    }

    /** Return the recommended method for what a chain does, from the answers of the chooser; null where there is none.

    Where a chain raises for a tensor that requires grad, it is the one for what it does without. A result that shall require grad itself
    is made to by a call more. */
    recommended(chain, circumstances, numel) {
      const { device, grad } = circumstances, contiguous = false, other = { device, grad: !grad, contiguous };
      const result = this.result(chain, circumstances), works = result.raises !== "" && grad;
      const wanted = works ? this.result(chain, { ...circumstances, grad: false }) : result, isTensor = wanted.gives === "tensor";
      if (wanted.raises || wanted.itself || wanted.rounded || wanted.dtype !== "float32" || (isTensor && wanted.device !== device)) return null;
      const graph = isTensor && grad ? (wanted.graph ? "-kept" : "-cut") : "";
      const address = `choose/${device}-${wanted.gives}-${wanted.shares ? "shared" : "own"}${graph}-${grad ? "grad" : "plain"}-${numel}.html`;
      const options = this.answers[address] ?? [], [first] = options;
      if (!first) return null;
      const { code, there } = this.methods[first[0]], fastest = normalized(device === "cpu" ? code : there ?? code);
      const more = wanted.grad && !wanted.graph ? `.${IN_PLACE}()` : "", theirs = attempt(() => this.chain(fastest + more));
      if (!theirs) return null; // of the reader's own operations, such as x + 0
      const mine = options.find(([name]) => name === this.names[device].get(chain.code)), judged = mine?.[1] && first[1];
      return {
        address,
        works,
        code: fastest + more,
        same: theirs.code === chain.code,
        time: this.time(fastest, this.tensor(circumstances), !wanted.shares, numel),
        more,
        tied: Boolean(judged) && mine[1] !== "slower" && first[1] !== "slower",
        interval: judged && first[1] === "fastest" ? mine[2] : [], // of the time of the chain over that of the answer
        // what differs for another tensor
        strided: [this.result(chain, { ...circumstances, contiguous, grad: grad && !works }), this.result(theirs, { ...circumstances, contiguous })],
        otherwise: [this.result(chain, other), this.result(theirs, other)],
      };
    }
  }

  /** Return code in the form in which chains are written; as it is where it is none. */
  function normalized(code) {
    return attempt(() => written(parsed(code))) ?? code;
  }

  /** Return the kind and the value of an argument; the kind is "" where it is not known. */
  function meaningOf(node, tensor, of, label) {
    const module = label.startsWith("np.") || label === ".astype()" ? "np" : "torch";
    const code = written(node), device = /^(?:torch\.device\()?"([^"]*)"\)?$/.exec(code)?.[1] ?? "";
    if (code === "True" || code === "False") return ["boolean", code === "True"];
    if (Object.hasOwn(FORMATS, code)) return ["format", FORMATS[code]];
    if (code.startsWith(`${module}.`) && node.attribute) {
      const other = module === "torch" && Object.hasOwn(OTHER_DTYPES, node.attribute), name = other ? OTHER_DTYPES[node.attribute] : node.attribute;
      if (DTYPES.includes(name) || (module === "torch" && NUMPY_LACKS.includes(name))) return ["dtype", name];
    }
    if (code === `${written(tensor)}.dtype` && module === "torch") return ["dtype", "float32"];
    if (code === `${written(tensor)}.device`) return ["device", "home"];
    if (code === `${written(of)}.device`) return ["device", "own"];
    return DEVICES.test(device) ? ["device", device.split(":")[0]] : ["", code];
  }

  /** Return how a call is named: ".to()", "torch.tensor()". */
  function labelOf(node) {
    if (node.call) return `${labelOf(node.call)}()`;
    if (node.index) return node.index;
    return node.attribute ? `${MODULES.includes(node.of.name) ? node.of.name : ""}.${node.attribute}` : node.name ?? node.literal;
  }

  return { Reader, attempt };
})();
