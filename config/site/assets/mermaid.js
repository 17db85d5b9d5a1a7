// The theme draws with a global mermaid. This one loads the site's own copy on first use.
(() => {
  const module = new URL("mermaid/mermaid.esm.min.mjs", document.currentScript.src)
  let loaded
  const mermaid = () => (loaded ??= import(module).then(({ default: m }) => m))
  window.mermaid = {
    initialize: (...args) => mermaid().then((m) => m.initialize(...args)),
    render: (...args) => mermaid().then((m) => m.render(...args)),
  }
})()
