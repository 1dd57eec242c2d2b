/** Copies a text; also where the page came by plain http, for which browsers have no clipboard. */
export async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  // Within an open dialog: outside of it nothing can be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  // Deprecated, and the only way there.
  document.execCommand("copy");
  field.remove();
}
