"use strict";
// Everything on the page can be read without this script. It adds sorting, hiding and picking.
(() => {
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const valueOf = (row, column) => {
    const text = row.cells[column].textContent.trim();
    if (text === "best") return 0;
    // Not what only begins with a number, as dates do.
    const plain = /^[+-]?[\d,]*\.?\d+( ±|, |$)/.test(text);
    return plain ? parseFloat(text.replace(/,/g, "")) : text;
  };
  // Fields without a number, and then those without anything, come last in both directions.
  const compare = (a, b, sign) => {
    const rank = (value) => (typeof value === "number" ? 0 : value ? 1 : 2);
    if (rank(a) !== rank(b)) return rank(a) - rank(b);
    if (rank(a) === 0) return sign * (a - b);
    return sign * a.localeCompare(b, undefined, { numeric: true });
  };
  const sortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", head.textContent, { type: "button", class: "sort" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => compare(valueOf(a, column), valueOf(b, column), up ? 1 : -1));
        table.tBodies[0].append(...rows);
      });
    });
  };
  document.querySelectorAll("table.sortable").forEach(sortable);

  const ranking = document.querySelector("#ranking table.sortable");
  if (ranking) {
    const box = make("fieldset", "", { class: "picks" });
    box.append(make("legend", "Methods shown"));
    for (const row of ranking.tBodies[0].rows) {
      const label = make("label");
      const check = make("input", "", { type: "checkbox", checked: "" });
      check.addEventListener("change", () => { row.hidden = !check.checked; });
      label.append(check, row.dataset.method);
      box.append(label);
    }
    ranking.closest(".scroll").before(box);
  }

  const classes = document.querySelector("#classes table.sortable");
  if (classes && classes.tBodies[0].rows.length > 1) {
    const label = make("label", "Class: ", { class: "picks" });
    const select = make("select");
    select.append(make("option", "all classes", { value: "" }));
    for (const row of classes.tBodies[0].rows) {
      select.append(make("option", row.cells[0].textContent, { value: row.dataset.class }));
    }
    label.append(select);
    document.querySelector("#classes h2").after(label);
    const confusions = document.querySelector("#confusion table.sortable");
    const none = make("p", "None of these is of this class.", { class: "caption", hidden: "" });
    if (confusions) confusions.closest(".scroll").after(none);
    select.addEventListener("change", () => {
      document.querySelectorAll("[data-class]").forEach((element) => {
        element.hidden = select.value !== "" && !element.dataset.class.split(" ").includes(select.value);
      });
      none.hidden = !confusions || [...confusions.tBodies[0].rows].some((row) => !row.hidden);
    });
  }
})();
