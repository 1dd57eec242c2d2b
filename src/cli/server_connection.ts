import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { readConfig } from "../core/config.ts";
import { errorCode } from "../core/error_code.ts";
import { AppError } from "../core/errors.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { safeOrigin, BadSetting } from "../core/setting_values.ts";
import { LIMITS } from "../server/limits.ts";
import { controlSocketPath } from "../server/operator/socket_path.ts";
import { type Arguments, optional } from "./command.ts";

/** A running server that commands talk to. */
export interface ServerConnection {
  /** For messages: `the running server`, or its URL. */
  name: string;
  /** Whether it takes the operator's requests. */
  is_operator: boolean;
  /** Errors: throws one line when the server can't be reached. */
  send(path: string, init?: RequestInit): Promise<Response>;
}

/**
 * The server that a command talks to: that of `--server`, else the one that runs on DATA_DIR; null where none does.
 * Errors: throws one line when it is there and can't be used.
 */
export async function findServer(words: Arguments): Promise<ServerConnection | null> {
  const url = optional(words, "server");
  return url === undefined ? findLocalServer() : connectTo(url);
}

/** The server behind DATA_DIR's control socket. */
async function findLocalServer(): Promise<ServerConnection | null> {
  const { data_dir } = readConfig({ LOG_LEVEL: "warn", ...process.env });
  const connection: ServerConnection = {
    name: "the running server",
    is_operator: true,
    async send(path, init) {
      const socket = controlSocketPath(data_dir);
      try {
        return await fetch(`http://localhost${path}`, { ...init, unix: socket.path, ...UNBOUNDED });
      } catch (error) {
        throw unreachable(this.name, error);
      } finally {
        socket.close();
      }
    },
  };
  try {
    await greet(connection);
    return connection;
  } catch (error) {
    const code = causeCode(error);
    // Nothing is there, or what a dead server left.
    if (code === "ENOENT" || code === "ECONNREFUSED" || code === "ENOTDIR") return null;
    if (code === "EACCES")
      throw new Error(
        `Cannot reach the server that runs on ${data_dir}: run the command as the user that it runs as`,
        { cause: error },
      );
    throw error;
  }
}

async function connectTo(url: string): Promise<ServerConnection> {
  const { server_token, operator_token } = readConfig({ LOG_LEVEL: "warn", ...process.env });
  const token = server_token ?? operator_token;
  if (token === null)
    throw wrongWords("--server needs SERVER_TOKEN (a user's token or an API key's), or OPERATOR_TOKEN");
  const origin = originOf(url);
  const connection: ServerConnection = {
    name: origin,
    is_operator: server_token === null,
    async send(path, { headers, ...init } = {}) {
      const all = new Headers(headers);
      all.set("authorization", `Bearer ${token}`);
      try {
        return await fetch(`${origin}${path}`, { ...init, headers: all, redirect: "error", ...UNBOUNDED });
      } catch (error) {
        throw unreachable(this.name, error);
      }
    },
  };
  await greet(connection);
  return connection;
}

/** Long work is waited for as long as it shows signs of life. */
const UNBOUNDED = { timeout: false } as const;

function originOf(url: string): string {
  try {
    return safeOrigin(url);
  } catch (error) {
    if (error instanceof BadSetting) throw wrongWords(`--server ${error.message}`, error);
    throw error;
  }
}

/** Errors: throws one line where nothing answers in time, or what answers refuses or is something else. */
async function greet(connection: ServerConnection): Promise<void> {
  const { name, is_operator } = connection;
  const signal = AbortSignal.timeout(LIMITS.hello_ms);
  const answer = await connection.send(is_operator ? "/operator" : "/health", { signal });
  const body: unknown = await answer.json().catch((error: unknown) => {
    if (signal.aborted) throw unreachable(name, signal.reason);
    throw new Error(`${name} is no Meterhouse server: it answers ${answer.status}`, { cause: error });
  });
  if (Value.Check(Greeting, body)) return;
  throw refusal(answer, body) ?? new Error(`${name} is no Meterhouse server: it answers ${answer.status}`);
}

const Greeting = Type.Union([
  Type.Object({ data: Type.Object({ service: Type.Literal("meterhouse") }) }),
  Type.Object({ status: Type.Literal("ok") }),
]);

function unreachable(name: string, error: unknown): Error {
  const reason =
    error instanceof Error && error.name === "TimeoutError" ? "it does not answer" : errorCode(error);
  return new Error(`Cannot reach ${name}: ${reason ?? String(error)}`, { cause: error });
}

const causeCode = (error: unknown) => errorCode(error instanceof Error ? error.cause : undefined);

/** What a server that refuses says. */
export async function refusalOf(answer: Response): Promise<Error> {
  const body: unknown = await answer.json().catch(() => null);
  return refusal(answer, body) ?? new Error(`The server answered ${answer.status}`);
}

/** Null where the body gives no reason. */
function refusal({ status, headers }: Response, body: unknown): Error | null {
  const retry_after_s = Number(headers.get("retry-after") ?? 1);
  const message = Value.Check(Refusal, body) ? body.error : null;
  const shown = message ?? `The server answered ${status}`;
  if (status === 429) return new AppError("rate_limited", shown, { retry_after_s });
  if (status === 503) return new AppError("unavailable", shown, { retry_after_s });
  return message === null ? null : new Error(message);
}

const Refusal = Type.Object({ error: Type.String() });
