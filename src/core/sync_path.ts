import { open } from "node:fs/promises";

/** Waits until a file, or the entries of a folder, are on disk. */
export async function syncPath(path: string): Promise<void> {
  const opened = await open(path, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
