// Shows the table of items. Only the rows in view are on the page, so that ten thousand scroll as ten do. Texts are hostile
// data: they reach the page as text alone, never as markup.
"use strict";
(async () => {
  const contents = document.querySelector(".toc details");
  const wide = matchMedia("(min-width: 64rem)"), unfold = () => { if (contents) contents.open = wide.matches; };
  unfold();
  wide.addEventListener("change", unfold);
  const place = document.getElementById("bench"), packed = document.getElementById("bench-data");
  if (!place) return;
  const make = (tag, attributes = {}, ...inside) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
    made.append(...inside);
    return made;
  };
  const plain = () =>  // what is read without script: for print, and for browsers of before 2023
    new DOMParser().parseFromString(document.querySelector("noscript").textContent, "text/html").body.children;
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
    place.append(make("div", { class: "printed" }, ...plain()));
  });
  addEventListener("afterprint", () => place.querySelector(".printed")?.remove());
  if (!globalThis.DecompressionStream) return place.append(...plain());
  const bytes = Uint8Array.from(atob(packed.textContent), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { words, columns, rows, views, heat } = await new Response(stream).json();
  packed.remove();

  const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const number = (value, digits) => {
    const written = value.toFixed(digits);
    return (/[1-9]/.test(written) ? written : written.replace("-", "")).replace("-", "−").replace(".", words.decimal);
  };
  const written = (value, column) => {
    if (value === null) return "";
    if (column.kind === "interval") return `[${value.map(end => number(end, column.digits)).join(words.comma)}]`;
    if (column.kind === "error") return (value > 0 ? "+" : "") + number(value, column.digits);
    return typeof value === "number" ? number(value, column.digits) : value;
  };
  const size = (value, column) => {  // by what a column is sorted
    if (value === null) return null;
    if (column.kind === "interval") return value[1] - value[0];
    if (column.kind === "error") return Math.abs(value);
    return column.order.length ? column.order.indexOf(value) : value;
  };
  const first = columns.findIndex(column => column.kind === "heat");
  const partners = new Map();
  for (const row of rows) if (row.pair !== null) partners.set(row.pair, [...(partners.get(row.pair) ?? []), row]);

  // What is shown: searched, filtered, in an order.
  let shown = rows, order = { column: views[0].column, down: views[0].down }, chosen = null;
  const filters = new Map(), opened = new Map();  // a column's number -> its value; an open row -> the height of what it opened to
  const search = make("input", { type: "search", id: "bench-search" });
  const choose = () => {
    const sought = search.value.trim().toLocaleLowerCase();
    shown = rows.filter(row => {
      for (const [column, value] of filters) if ((row.cells[column] ?? "") !== value) return false;
      if (!sought) return true;
      row.words ??= [...row.cells, ...row.parts.map(part => part[1])].join("\n").toLocaleLowerCase();
      return row.words.includes(sought);
    });
    const { column, down } = order;
    shown.sort((one, other) => {
      if (column === null) return one.n - other.n;
      const a = size(one.cells[column], columns[column]), b = size(other.cells[column], columns[column]);
      if (a === null || b === null) return (a === null) - (b === null) || one.n - other.n;
      const apart = typeof a === "string" ? a.localeCompare(b) : a - b;
      return (down ? -apart : apart) || one.n - other.n;
    });
    heads.forEach((head, n) => {
      head.setAttribute("aria-sort", n !== column ? "none" : down ? "descending" : "ascending");
      head.querySelector("span").textContent = n !== column ? "" : down ? " ▼" : " ▲";
    });
    orders.value = views.findIndex(view => view.column === column && (column === null || view.down === down));
    count.textContent = fill(words.rows, { shown: shown.length, total: rows.length });
    table.setAttribute("aria-rowcount", shown.length + 1);
    shown.forEach((row, at) => { row.at = at; });
    draw(true);
  };

  // The tools above the table.
  const orders = make("select", {}, ...views.map((view, n) => make("option", { value: n }, view.title)));
  orders.addEventListener("change", () => { order = views[orders.value]; pane.scrollTop = 0; choose(); });
  search.addEventListener("input", () => { pane.scrollTop = 0; choose(); });
  const selects = columns.flatMap((column, n) => {
    const values = column.kind === "mark" ? [...new Set(rows.map(row => row.cells[n]))].filter(value => value !== null) : [];
    if (!values.length || values.length > 40) return [];
    values.sort((a, b) => size(a, column) > size(b, column) ? 1 : -1);
    const select = make("select", {}, make("option", { value: "" }, words.all), ...values.map(value => make("option", {}, value)));
    select.addEventListener("change", () => {
      if (select.value) filters.set(n, select.value); else filters.delete(n);
      pane.scrollTop = 0;
      choose();
    });
    return [[column.title, select]];
  });
  const clear = make("button", { type: "button" }, words.clear), count = make("output", {});
  const cleared = () => { search.value = ""; filters.clear(); selects.forEach(([, select]) => { select.value = ""; }); choose(); };
  clear.addEventListener("click", cleared);
  const labelled = ([title, control]) => make("label", {}, title, control);
  const tools = make("div", { class: "tools", role: "search" }, labelled([words.search, search]), labelled([words.order, orders]),
    ...selects.map(labelled), clear, count);

  // The table: its head, the rows in view, and the room that those above and below them would take.
  const form = column => ["error", "heat"].includes(column.kind) ? "number" : column.kind;
  const heads = columns.map((column, n) => {
    const button = make("button", { type: "button" }, column.title, make("span", { "aria-hidden": "true" }));
    button.addEventListener("click", () => {
      const down = order.column === n ? !order.down : ["number", "error", "interval", "heat"].includes(column.kind);
      order = { column: n, down };
      choose();
    });
    return make("th", { scope: "col", role: "columnheader", class: form(column) }, button);
  });
  const body = make("tbody", { role: "rowgroup" });
  const room = () => make("tbody", { "aria-hidden": "true" }, make("tr", {}, make("td", { colspan: columns.length })));
  const above = room(), below = room();
  const table = make("table", { role: "table" }, make("caption", { class: "hidden" }, words.caption),
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)), above, body, below);
  const pane = make("div", { class: first < 0 ? "window" : "window matrix", tabindex: "0", role: "region", "aria-label": words.caption }, table);
  table.style.setProperty("--wide", `${14 + 6.5 * columns.length}rem`);
  place.append(tools, pane);

  const cell = (row, value, column, n) => {
    const text = written(value, column), hot = column.kind === "heat" && value !== null;
    const apart = hot && heat.margin !== null && n !== first && row.cells[first] !== null && Math.abs(value - row.cells[first]) > heat.margin;
    const inside = make("div", {}, apart ? `${text} ${value > row.cells[first] ? "▲" : "▼"}` : text || (form(column) === "number" ? words.nothing : ""));
    const kind = [form(column), hot ? "heat" : "", apart ? "apart" : "", text ? "" : "empty"].filter(Boolean).join(" ");
    const made = make("td", { role: "cell", class: kind, "data-title": column.title }, inside);
    if (apart) made.title = value > row.cells[first] ? words.more_like : words.less_like;
    if (hot) made.style.setProperty("--share", `${Math.round(85 * (value - heat.bottom) / (heat.top - heat.bottom || 1))}%`);
    if (column.kind === "id") {
      row.button = make("button", { type: "button", "aria-expanded": opened.has(row) }, value);
      inside.replaceChildren(row.button);
    }
    return made;
  };
  const line = row => {
    row.line ??= make("tr", { class: "row", role: "row" }, ...row.cells.map((value, n) => cell(row, value, columns[n], n)));
    row.line.setAttribute("aria-rowindex", row.at + 2);
    row.line.classList.toggle("chosen", row === chosen);
    row.button.setAttribute("aria-expanded", opened.has(row));
    row.line.row = row;
    return row.line;
  };

  // What a row opens to. Of the texts of a pair, the words that the other one lacks are marked.
  const lacking = (own, others) => {
    const across = others.length, longest = Array.from({ length: own.length + 1 }, () => new Uint32Array(across + 1)), found = new Set();
    for (let i = own.length - 1; i >= 0; i--) for (let j = across - 1; j >= 0; j--)
      longest[i][j] = own[i] === others[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    for (let i = 0, j = 0; i < own.length;)
      if (j < across && own[i] === others[j]) { i++; j++; } else if (j < across && longest[i][j + 1] >= longest[i + 1][j]) j++; else found.add(i++);
    return found;
  };
  const compared = (text, other) => {
    const [own, others] = [text, other].map(each => each.split(/(?<=\s)(?=\S)/)), bare = each => each.map(word => word.trim());
    if (own.length * others.length > 4e6) return [text];
    const found = lacking(bare(own), bare(others));
    return own.map((word, n) => found.has(n) ? make("mark", {}, word) : word);
  };
  const told = (title, ...inside) => [make("p", { class: "name" }, title), make("p", { class: "said" }, ...inside)];
  const inputs = row => row.parts.filter(part => part[2] === "input");
  const detail = row => {
    const others = (partners.get(row.pair) ?? []).filter(other => other.id !== row.id && inputs(other).length).filter(
      (other, n, all) => all.findIndex(each => each.id === other.id) === n).slice(0, 5);
    const column = (own, other, named) => make("div", {}, ...inputs(own).flatMap(([title, text], n) =>
      told(named ? `${own.id}: ${title}` : title, ...(other && inputs(other)[n] ? compared(text, inputs(other)[n][1]) : [text]))));
    const texts = [column(row, others[0], others.length), ...others.map(other => column(other, row, true))];
    const raw = row.parts.filter(part => part[2] === "raw");
    const inside = [make("div", { class: "beside" }, ...texts)];
    if (others.length) inside.push(make("p", { class: "small" }, words.differ));
    inside.push(...row.parts.filter(part => part[2] === "said").flatMap(([title, text]) => told(title, text)));
    const links = row.parts.filter(part => part[2] === "link").map(([title, address]) => make("li", {}, make("a", { href: address }, title)));
    if (links.length) inside.push(make("p", { class: "name" }, words.reports), make("ul", {}, ...links));
    if (raw.length) inside.push(make("details", {}, make("summary", {}, words.raw), ...raw.flatMap(([title, text]) => told(title, text))));
    return make("tr", { class: "opened", role: "row" }, make("td", { colspan: columns.length, role: "cell" }, ...inside));
  };

  // Which rows are in view, and where: all are equally high, but for what the open ones opened to.
  let high = 74, drawn = "", held = 0;
  const offset = at => [...opened].reduce((sum, [row, height]) => row.at < at && shown[row.at] === row ? sum + height : sum, at * high);
  const at = top => {
    let low = 0, up = shown.length;
    while (low < up) { const middle = (low + up) >> 1; if (offset(middle + 1) <= top) low = middle + 1; else up = middle; }
    return low;
  };
  const draw = anew => {
    const begin = Math.max(0, Math.floor(at(pane.scrollTop) / 6) * 6 - 6);
    const end = Math.min(shown.length, Math.ceil(at(pane.scrollTop + pane.clientHeight) / 6) * 6 + 6);
    if (!anew && drawn === `${begin} ${end}`) return;
    drawn = `${begin} ${end}`;
    const focused = document.activeElement;
    const wanted = shown.slice(begin, end).flatMap(row => opened.has(row) ? [line(row), row.detail ??= detail(row)] : [line(row)]);
    if (!shown.length) wanted.push(make("tr", {}, make("td", { colspan: columns.length }, words.none)));
    const kept = new Set(wanted);
    for (const old of [...body.children]) if (!kept.has(old)) old.remove();
    let next = body.firstChild;
    for (const each of wanted) if (each === next) next = next.nextSibling; else body.insertBefore(each, next);
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    for (const row of shown.slice(begin, end)) if (opened.has(row)) opened.set(row, row.detail.getBoundingClientRect().height);
    above.rows[0].cells[0].style.cssText = `height: ${offset(begin)}px; padding: 0; border: 0`;
    below.rows[0].cells[0].style.cssText = `height: ${offset(shown.length) - offset(end)}px; padding: 0; border: 0`;
    above.hidden = !begin;
    below.hidden = end >= shown.length;
  };
  const toggle = row => { if (opened.has(row)) opened.delete(row); else opened.set(row, 0); draw(true); };
  const go = row => {
    const top = offset(row.at), head = table.tHead.offsetHeight;
    if (top < pane.scrollTop || top + high > pane.scrollTop + pane.clientHeight - head) pane.scrollTop = top;
    draw(true);
    row.button.focus({ preventScroll: true });
  };
  pane.addEventListener("scroll", () => { held ||= requestAnimationFrame(() => { held = 0; draw(false); }); }, { passive: true });
  body.addEventListener("click", event => {
    const clicked = event.target.closest(".row");
    if (clicked && (event.target.closest("button") || !String(getSelection()))) toggle(clicked.row);
  });
  body.addEventListener("toggle", () => draw(true), true);
  body.addEventListener("keydown", event => {
    const now = event.target.closest(".row")?.row, step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key];
    if (!now || !step) return;
    event.preventDefault();
    go(shown[Math.min(shown.length - 1, Math.max(0, now.at + step))]);
  });
  const lead = () => {  // a link on the page to an item
    const sought = decodeURIComponent(location.hash.slice(1)), row = rows.find(each => `item-${each.id}` === sought);
    if (!row) return;
    if (shown[row.at] !== row) cleared();
    chosen = shown.find(each => each.id === row.id);
    opened.set(chosen, opened.get(chosen) ?? 0);
    pane.scrollIntoView({ block: "nearest" });
    pane.scrollTop = offset(chosen.at);
    go(chosen);
  };
  const measure = () => { const line = body.querySelector(".row"); if (line) high = line.getBoundingClientRect().height; draw(true); };
  addEventListener("hashchange", lead);
  addEventListener("resize", measure);
  choose();
  measure();
  lead();
})();
