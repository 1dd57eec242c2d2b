/** UUIDs as their bytes, 16 each, in Base64. */
export function packIds(ids: readonly string[]): string {
  return Buffer.from(ids.join("").replaceAll("-", ""), "hex").toString("base64");
}

/** Lower-case UUIDs. Errors: throws for what is no text of `packIds`. */
export function unpackIds(packed: string): string[] {
  const hex = Buffer.from(packed, "base64").toString("hex");
  if (hex.length % 32 !== 0) throw new Error("Cannot read erased ids: the last is cut off");
  return Array.from({ length: hex.length / 32 }, (_, i) =>
    hex.slice(i * 32, (i + 1) * 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
  );
}
