import "./server/node_env.ts";
import { runCommand } from "./cli/run.ts";
import { exitCodeOf } from "./core/exit_codes.ts";
import { ensureNativeThreads } from "./server/native_threads.ts";

await ensureNativeThreads();
try {
  await runCommand(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(exitCodeOf(error));
}
