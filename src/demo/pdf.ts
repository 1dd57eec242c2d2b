/** A PDF of one page of lines of ASCII, whose first line is its heading. */
export function makePdf(lines: readonly string[]): Uint8Array<ArrayBuffer> {
  const [heading = "", ...rest] = lines.map((line) => line.replaceAll(/[\\()]/g, "\\$&"));
  const text = [
    "BT /F1 18 Tf 60 770 Td",
    `(${heading}) Tj /F1 11 Tf 0 -14 Td`,
    ...rest.map((line) => `0 -18 Td (${line}) Tj`),
    "ET",
  ].join("\n");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  let body = "%PDF-1.7\n";
  const places = objects.map((object, i) => {
    const place = body.length;
    body += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const table = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  const count = objects.length + 1;
  const trailer = `trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`;
  return new TextEncoder().encode(`${body}xref\n0 ${count}\n0000000000 65535 f \n${table}${trailer}`);
}
