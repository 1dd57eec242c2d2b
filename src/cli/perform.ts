import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { AppError } from "../core/errors.ts";
import { EXIT, ExitError, wrongWords } from "../core/exit_codes.ts";
import { decode } from "../core/validate.ts";
import type { Action, Report } from "../server/operator/action.ts";
import { type Arguments, withDeps } from "./command.ts";
import { openProgress } from "./progress.ts";
import { findServer, refusalOf, type ServerConnection } from "./server_connection.ts";

/** How long a server that is starting may take until its control socket is there. */
const STARTING_MS = 5_000;
const PAUSE_MS = 100;

/** Does an action: a running server where there is one, else this process. `title` is that of its progress. */
export async function perform<I extends TObject, O extends TSchema>(
  words: Arguments,
  action: Action<I, O>,
  input: Static<I>,
  title = action.name,
): Promise<Static<O>> {
  const progress = openProgress(title);
  try {
    const server = await findServer(words);
    if (server !== null) return await performAt(server, action, input, progress);
    return await performHere(words, action, input, progress);
  } finally {
    progress.end();
  }
}

async function performHere<I extends TObject, O extends TSchema>(
  words: Arguments,
  action: Action<I, O>,
  input: Static<I>,
  report: Report,
): Promise<Static<O>> {
  try {
    return await withDeps((deps) => action.run(deps, input, report), action.opens);
  } catch (error) {
    const server = await untilStarted(words, error);
    return performAt(server, action, input, report);
  }
}

/**
 * The server that has taken the usage store meanwhile and is about to make its control socket. Errors: `error` when it is
 * another one, or no server comes.
 */
export async function untilStarted(words: Arguments, error: unknown): Promise<ServerConnection> {
  if (!(error instanceof AppError) || error.kind !== "unavailable") throw error;
  for (const give_up_ms = performance.now() + STARTING_MS; performance.now() < give_up_ms; ) {
    const server = await findServer(words);
    if (server !== null) return server;
    await Bun.sleep(PAUSE_MS);
  }
  throw error;
}

/** Has a running server do an action. Errors: throws one line, with the exit code that the server gives it. */
export async function performAt<I extends TObject, O extends TSchema>(
  server: ServerConnection,
  action: Action<I, O>,
  input: Static<I>,
  report: Report,
): Promise<Static<O>> {
  if (!server.is_operator)
    throw wrongWords("This command is the operator's: set OPERATOR_TOKEN, and leave SERVER_TOKEN unset");
  const answer = await server.send(`/operator/actions/${action.name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(input),
  });
  if (!answer.ok) throw await refusalOf(answer);
  for await (const line of linesOf(answer, server)) {
    if ("progress" in line) {
      const { share = null, text = "" } = line.progress ?? {};
      report.progress(share, text);
    }
    if ("line" in line) report.line(line.line);
    if ("result" in line) return decode(action.output, line.result);
    if ("error" in line) throw new ExitError(line.exit_code ?? EXIT.failed, line.error);
  }
  throw new Error(`Cannot say what became of it: ${server.name} ended before it was done`);
}

// biome-ignore lint: what the server's lines hold is checked where it is used
type Line = ReturnType<typeof JSON.parse>;

async function* linesOf({ body }: Response, server: ServerConnection): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const piece of body ?? []) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line);
    }
  } catch (error) {
    throw new Error(`Cannot say what became of it: the connection to ${server.name} broke off`, {
      cause: error,
    });
  }
}
