import { expect } from "bun:test";
import { Client as ModernClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { JsonSchemaValidator } from "@modelcontextprotocol/server";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { OAuthClient as Registered } from "../access/oauth/fixtures.ts";
import type { Service, Json } from "./harness.ts";

/** What a tool answered, as any of the clients tells it. */
export interface ToolAnswer {
  is_error: boolean;
  text: string;
  structured: Json;
}

/** An agent with an access token, by a real client of the protocol. */
export interface McpClient {
  token: string;
  list(): Promise<Json[]>;
  /** Once the tools are listed, checks the answer. Errors: the protocol's, such as that of an unknown tool. */
  call(name: string, args?: object): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** Which client: the newest of the line before, or the current one in either era of the protocol. */
export const CLIENTS = ["sdk 1.x", "client 2.x", "client 2.x, legacy"] as const;
export type ClientKind = (typeof CLIENTS)[number];

/** Has a user allow a new agent to act for it, as a browser would. */
export async function grantAccess(service: Service, email: string): Promise<string> {
  const registered = await Registered.register(service);
  return (await registered.authorize(email)).access_token;
}

/** Connects a client with a token. */
export async function connect(
  service: Service,
  token: string,
  kind: ClientKind = "client 2.x",
  path = "/api/v1/mcp",
): Promise<McpClient> {
  const url = new URL(`${service.url}${path}`);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const identity = { name: "meterhouse-test", version: "1.0.0" };
  if (kind === "sdk 1.x") {
    const client = new LegacyClient(identity);
    // Its types were written without exactOptionalPropertyTypes.
    const transport: Json = new LegacyTransport(url, { requestInit });
    await client.connect(transport);
    return agentOf(token, client);
  }
  const mode = kind === "client 2.x" ? ({ pin: "2026-07-28" } as const) : "legacy";
  const client = new ModernClient(identity, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return agentOf(token, client);
}

interface AnyClient {
  listTools(): Promise<{ tools: Json[] }>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<Json>;
  close(): Promise<void>;
}

const ajv = new AjvJsonSchemaValidator();

function agentOf(token: string, client: AnyClient): McpClient {
  const checks = new Map<string, JsonSchemaValidator<unknown>>();
  return {
    token,
    async list() {
      const { tools } = await client.listTools();
      for (const { name, outputSchema } of tools) checks.set(name, ajv.getValidator(outputSchema));
      return tools;
    },
    async call(name, args = {}) {
      const {
        isError = false,
        content,
        structuredContent,
      } = await client.callTool({
        name,
        arguments: { ...args },
      });
      const check = isError ? undefined : checks.get(name)?.(structuredContent);
      if (check?.valid === false)
        throw new Error(`${name} answers other than it says: ${check.errorMessage}`);
      return { is_error: isError, text: content[0].text, structured: structuredContent };
    },
    close: () => client.close(),
  };
}

/** Calls a tool and, where a person has to be asked first, says yes. */
export async function confirmed(agent: McpClient, name: string, args: object = {}): Promise<ToolAnswer> {
  const answer = await agent.call(name, args);
  const question = answer.structured?.needs_confirmation;
  return question === undefined ? answer : agent.call(name, { ...args, confirm: question.confirm });
}

/** Calls of an agent by what is expected of them; a person who is asked says yes. */
export interface Asking {
  /** What a tool answers under `data`. */
  readonly ask: (name: string, args?: object) => Promise<Json>;
  /** What a tool that refuses says. */
  readonly refusal: (name: string, args: object) => Promise<string>;
}

export function asking(agent: McpClient): Asking {
  return {
    async ask(name, args = {}) {
      const { is_error, text, structured } = await confirmed(agent, name, args);
      expect([name, is_error, is_error && text]).toEqual([name, false, false]);
      return structured.data;
    },
    async refusal(name, args) {
      const { is_error, text, structured } = await confirmed(agent, name, args);
      expect([name, is_error, structured]).toEqual([name, true, undefined]);
      return text;
    },
  };
}

/** Grants and connects in one step. */
export async function agentFor(service: Service, email: string, kind?: ClientKind): Promise<McpClient> {
  return connect(service, await grantAccess(service, email), kind);
}

/** What a model pays for a text, roughly: a token is about four characters. */
export function tokensOf(value: unknown): number {
  return Math.ceil((typeof value === "string" ? value : JSON.stringify(value)).length / 4);
}
