import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { errorCode } from "./error_code.ts";

/** A file that is open for reading. */
export interface FileBytes {
  readonly size: number;
  /** So many bytes from a place; fewer where the file ends before. */
  readonly readAt: (at: number, length: number) => Buffer;
}

/** Looks into a file; null where it is not there. */
export function lookInto<T>(path: string, look: (file: FileBytes) => T): T | null {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  const readAt = (at: number, length: number): Buffer => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, at));
  };
  try {
    return look({ size: fstatSync(file).size, readAt });
  } finally {
    closeSync(file);
  }
}
