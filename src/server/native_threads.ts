import { readFileSync } from "node:fs";

/** Enough for usage queries, commits, exports and password hashes at once. `usageReaders` derives the readers from it. */
const NATIVE_THREADS = "16";

/**
 * Gives the process a pool of 16 native threads, where UV_THREADPOOL_SIZE does not say how many. The runtime reads it
 * before any code runs, so the program starts itself again under the same process id: signals, standard streams and
 * the supervisor's handle stay. Only Linux can; elsewhere, and where it fails, the default of four stays.
 */
export async function ensureNativeThreads(): Promise<void> {
  if (process.env.UV_THREADPOOL_SIZE || process.platform !== "linux") return;
  // Only a process that starts again needs it.
  const { dlopen, ptr } = await import("bun:ffi");
  const words = readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, -1);
  const settings = Object.entries({ ...process.env, UV_THREADPOOL_SIZE: NATIVE_THREADS });
  const kept: Uint8Array[] = [];
  const address = (text: string) => {
    const bytes = Buffer.from(`${text}\0`);
    kept.push(bytes);
    return BigInt(ptr(bytes));
  };
  const list = (texts: string[]) => new BigUint64Array([...texts.map(address), 0n]);
  const library = dlopen("libc.so.6", { execve: { args: ["ptr", "ptr", "ptr"], returns: "int" } });
  library.symbols.execve(
    Buffer.from(`${process.execPath}\0`),
    list(words),
    list(settings.map(([name, value]) => `${name}=${value}`)),
  );
  // Reached only if it failed; until then the texts must stay.
  kept.length = 0;
  library.close();
}
