// What the theme leaves open for those who use no mouse or no screen: the search has a name, what scrolls can be reached
// by keyboard, and only what is a place to go to is called a landmark.
(() => {
  const named = () => {
    const search = document.querySelector(".md-search[role=dialog]");
    search?.setAttribute("aria-label", search.querySelector("input").getAttribute("aria-label"));
    for (const each of document.querySelectorAll(".md-code__nav")) each.setAttribute("role", "none");
    for (const each of document.querySelectorAll(".md-nav--secondary .md-nav")) {
      each.removeAttribute("aria-label");
      each.setAttribute("role", "none");
    }
    for (const each of document.querySelectorAll("pre > code, .md-typeset__scrollwrap"))
      if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
  };
  named();
  addEventListener("load", named);
  addEventListener("resize", named);
  new MutationObserver(named).observe(document.querySelector(".md-content"), { childList: true, subtree: true });
})();
