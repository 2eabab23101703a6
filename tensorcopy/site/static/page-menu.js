/* Closes the menu of the header with Escape, and where anything else is clicked or focused. */
function addClosing(menu) {
  const closeOutside = (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  };
  document.addEventListener("click", closeOutside);
  document.addEventListener("focusin", closeOutside);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}
