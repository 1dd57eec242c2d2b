type Cell = string | number | null;

/** Rows as CSV (RFC 4180). A text that a spreadsheet would take for a formula stays a text. */
export function csvOf(rows: readonly (readonly Cell[])[]): string {
  return `${rows.map((row) => row.map(cellOf).join(",")).join("\r\n")}\r\n`;
}

function cellOf(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
