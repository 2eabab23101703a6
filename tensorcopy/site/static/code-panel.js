/* The field for code on the chooser's pages: shows what `code-reading.js` tells of it, for the tensor of the page, and keeps the code in the
address, so that the page's links keep it too. What is typed becomes text, never markup. */

tensorCode.receive = (data) => {
  const UNNAMED = ["code_result", "code_strides"]; // facts that say what they are
  const section = document.querySelector("[data-code]");
  const words = data.words[document.documentElement.lang] ?? data.words.en, { text: format } = tensorHistory;
  const reader = new tensorCode.Reader(data), answer = section.querySelector("[role=status]"), field = section.querySelector("textarea");
  const page = { device: section.dataset.device, grad: section.dataset.grad === "yes", contiguous: true }, numel = Number(section.dataset.numel);

  const isJapanese = document.documentElement.lang === "ja", space = isJapanese ? "" : " ", semicolon = isJapanese ? "；" : "; ";
  const element = (tag, content, className = "") => {
    const made = document.createElement(tag);
    made.className = className;
    made.append(...[content].flat());
    return made;
  };
  const code = (text) => element("code", text);
  const list = (parts, joint = words.and) => parts.flatMap((part, place) => (place ? [joint, part] : [part])).flat();

  /** Return a text as nodes; the values stand in its places, as text or nodes. */
  const say = (name, values = {}) => words[name].split(/\{(\w+)\}/).flatMap((part, place) => (place % 2 ? values[part] : part));

  /** Return what can be told of a value, by name. */
  function factsOf(value, { grad, contiguous }) {
    if (value.raises) return { code_result: [element("span", say("code_raises", { error: value.raises }), "raises")] };
    const isTensor = value.gives === "tensor", facts = {};
    const notes = [value.dtype === "float32" ? "" : value.dtype, value.rounded ? words.code_rounded : "", isTensor && value.device !== page.device ? value.device : ""].filter(Boolean);
    facts.code_result = value.itself ? say("code_itself") : list([words[value.gives], ...notes]);
    if (!value.itself) facts.q_storage = list(value.shares ? [words.shared, words.writes] : [words.own]);
    if (!isTensor) facts.q_graph = grad ? say("code_no_graph") : null;
    else if (grad || value.grad) facts.q_graph = list([words[value.graph ? "kept" : "cut"], ...(value.grad && !value.graph ? [words.own_gradient] : [])]);
    facts.code_warns = value.warns.length ? list(value.warns, semicolon) : null;
    if (value.contiguous && !contiguous) facts.code_strides = [words.contiguous];
    return facts;
  }

  /** Return the calls of a chain, each with what it does. */
  function stepsOf(chain) {
    const values = reader.values(chain, page);
    return element("ol", values.slice(1).map((value, place) => {
      const before = values[place], does = [words[value.copies ? "code_copy" : value.same ? "code_same" : "code_view"]];
      if (value.raises) return element("li", [code(chain.steps[place].label), element("span", value.raises.split(":")[0], "raises")]);
      if (value.gives !== before.gives) does.unshift(words[value.gives]);
      if (value.dtype !== before.dtype) does.push(value.dtype);
      if (!before.grad && value.grad) does.push(words.code_requires);
      if (before.graph && !value.graph && value.gives === "tensor") does.push(words.code_cut);
      return element("li", [code(chain.steps[place].label), element("span", list(does))]);
    }), "calls");
  }

  function costOf(chain) {
    const { parts, missing, total } = reader.cost(chain, page, numel);
    const part = (each) => say(each.numel === numel ? "code_part" : "code_part_at", { code: code(each.code), time: format.duration(each.ns), numel: format.elements(each.numel) });
    const lines = [], [only] = parts;
    if (missing.length) {
      const codes = missing.map((each) => (each.sizes.length ? say("code_unmeasured_at", { code: code(each.code), numels: each.sizes.map(format.elements).join(words.and) }) : code(each.code)));
      lines.push(say("code_unmeasured", { codes: list(codes) }));
      if (parts.length) lines.push(say("code_rest", { parts: list(parts.map(part), " + ") }));
    } else if (parts.length === 1) {
      lines.push(say(only.numel === numel ? "code_measured" : "code_measured_at", { time: element("b", format.duration(total)), numel: format.elements(only.numel) }));
    } else if (parts.length) {
      const sums = reader.sums;
      lines.push(say("code_sum", { time: element("b", format.duration(total)), parts: list(parts.map(part), " + ") }));
      if (sums.length) lines.push(say("code_sums", { low: Math.min(...sums).toFixed(2), high: Math.max(...sums).toFixed(2) }));
    }
    if (parts.some((each) => each.withoutGrad)) lines.push([isJapanese ? `（${words.timed_without_grad}）` : `(${words.timed_without_grad})`]);
    return list(lines, space);
  }

  /** Return in what the recommended method differs for other tensors. */
  function differencesOf({ strided, otherwise }) {
    const [mine, theirs] = otherwise, differences = [];
    if (!strided[0].contiguous && strided[1].contiguous) differences.push([words.contiguous]);
    if (page.grad || mine.raises) return differences;
    if (theirs.raises) differences.push(say("grad_raises", { detail: theirs.raises.split(":")[0] }));
    else if (theirs.graph && !mine.graph) differences.push([words.grad_flows]);
    else if (theirs.grad && !mine.grad) differences.push([words.grad_own]);
    else if (mine.graph && !theirs.graph) differences.push([words.code_grad_cut]);
    return differences;
  }

  /** Return a box with what does the same; nothing where the chooser recommends nothing for it. */
  function recommendationOf(chain) {
    const found = reader.recommended(chain, page, numel);
    if (!found) return [];
    const all = element("a", words.code_all);
    all.href = `${found.address.split("/")[1]}#${fragment()}`;
    if (found.same) return [element("div", element("p", list([say("code_best"), all], space)), "recommended")];
    const { parts, missing, total } = found.works ? { parts: [], missing: [] } : reader.cost(chain, page, numel);
    const ratio = parts.length && !missing.length && !found.more ? found.time.ns / total : null, [low, high] = found.interval.map((end) => end.toFixed(2));
    const lines = [words[found.works ? "code_works" : "code_better"]], differences = differencesOf(found).flatMap((nodes, place) => (place ? [words.and, ...nodes] : nodes));
    if (found.time.ns) {
      const values = { low, high, time: element("b", format.duration(found.time.ns)), more: code(found.more), ratio: `${parts.length > 1 ? "≈\u202f" : ""}${ratio?.toFixed(2)}` };
      lines.push(say(found.more ? "code_takes_without" : found.tied ? "code_takes_tied" : low ? "code_takes_times" : ratio ? "code_takes_ratio" : "code_takes", values));
    }
    if (ratio > 1 && !found.tied) lines.push(words.reason_usual);
    if (differences.length) lines.push(say("code_but", { differences }));
    const shown = [element("p", words.use, "note"), element("p", code(found.code), "code"), element("p", list([...lines, all], space))];
    return [element("div", shown, "recommended")];
  }

  /** Return the facts that differ in other circumstances. */
  function differing(facts, chain, circumstances) {
    const other = tensorCode.attempt(() => reader.result(chain, circumstances));
    const textOf = (nodes) => element("p", nodes ?? "").textContent;
    const rows = Object.entries(other ? factsOf(other, circumstances) : {}).filter(([name, nodes]) => nodes && textOf(nodes) !== textOf(facts[name]));
    return list(rows.map(([name, nodes]) => (UNNAMED.includes(name) ? nodes : say("code_fact", { name: words[name], nodes }))), semicolon);
  }

  function shown(text) {
    const chain = reader.chain(text);
    if (!chain) return [];
    const result = reader.result(chain, page), facts = factsOf(result, page), rows = { ...facts };
    const values = reader.values(chain, page), copies = chain.steps.filter((step, place) => values[place + 1]?.copies);
    if (copies.length > 1 && facts.q_storage) {
      rows.q_storage = list([facts.q_storage, say("code_copies", { number: String(copies.length), codes: list(copies.map((step) => code(step.label))) })], semicolon);
    }
    if (!result.raises) {
      rows.code_warns ??= say("code_none");
      rows.code_time = chain.steps.length ? costOf(chain) : null;
    }
    rows[page.grad ? "code_if_plain" : "code_if_grad"] = differing(facts, chain, { ...page, grad: !page.grad });
    rows.code_if_strided = differing(facts, chain, { ...page, contiguous: false });
    const entries = Object.entries(rows).filter(([, nodes]) => nodes?.length);
    return [
      ...(chain.tensor === "x" ? [] : [element("p", say("code_stands", { code: code(chain.tensor) }), "note")]),
      ...(chain.steps.length ? [stepsOf(chain)] : []),
      element("dl", entries.map(([name, nodes]) => element("div", [element("dt", words[name]), element("dd", nodes)]))),
      ...recommendationOf(chain),
    ];
  }

  const fragment = () => (field.value.trim() ? `code=${encodeURIComponent(field.value)}` : "");

  function show() {
    try {
      answer.replaceChildren(...shown(field.value));
    } catch (error) {
      if (!error.text) throw error;
      const values = Object.fromEntries(Object.entries(error.values).map(([name, text]) => [name, code(text)]));
      answer.replaceChildren(element("p", say(error.text, values), "unknown"));
    }
    for (const link of document.querySelectorAll(".questions a, .tools a")) link.hash = fragment();
  }

  for (const [kind, name] of [["tensor", "x"], ["ndarray", "a"]]) {
    const items = Object.entries(data.steps[kind]).map(([text, { takes }]) => {
      const call = text.replace(/(?<!\w)_(?!\w)/g, name);
      return element("li", code(takes ? `${call.slice(0, -1)}${call.endsWith("()") ? "" : ", "}${takes.join(", ")})` : call));
    });
    section.querySelector("details").append(element("p", say("code_known_of", { kind: words[kind], name: code(name) })), element("ul", items));
  }
  section.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => {
    field.value = button.textContent;
    field.dispatchEvent(new Event("input"));
    field.focus();
  }));
  const read = () => {
    const asked = new URLSearchParams(location.hash.slice(1)).get("code");
    if (asked !== null) field.value = asked.slice(0, field.maxLength);
    show();
  };
  field.addEventListener("input", () => {
    history.replaceState(null, "", `#${fragment()}`);
    show();
  });
  addEventListener("hashchange", read);
  section.hidden = false;
  read();
};
