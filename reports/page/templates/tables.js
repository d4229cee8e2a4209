/* Sections whose topics have a text in their names; the text stands in the address. */
const field = document.getElementById("topic");
if (field) {
  const sections = [...document.querySelectorAll(".subject")];
  const find = () => {
    for (const each of sections) each.hidden = !each.dataset.names.includes(field.value.trim());
    const shown = sections.filter(each => !each.hidden).length;
    document.getElementById("found").textContent = shown ? `${shown} of ${sections.length} groups of topics`
      : "No topic is called so. Empty the search to see all.";
  };
  field.form.onsubmit = event => event.preventDefault();
  field.oninput = () => {
    find();
    history.replaceState(null, "", field.value ? "#topic=" + encodeURIComponent(field.value) : location.pathname + location.search);
  };
  const read = () => { field.value = new URLSearchParams(location.hash.slice(1)).get("topic") || ""; find(); };
  addEventListener("hashchange", read);
  read();
}
