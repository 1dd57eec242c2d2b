import type { Clock } from "../core/time.ts";

/** The systems that hear of events, each at its path; one of them has stood still for days. */
const SYSTEMS = ["finance", "crm", "lending"] as const;
export type System = (typeof SYSTEMS)[number];

/** How many days before the demo was made its CRM stopped answering. */
export const SILENT_DAYS = 9;

/** What takes the demo's webhooks, on this machine. */
export interface Receiver {
  port: number;
  stop(): Promise<void>;
}

/**
 * Takes webhooks at a port, or at a free one where it is taken. `silent_since`: from when on one of the systems answers
 * that it can't.
 */
export function openReceiver(
  port: number,
  { clock, silent_since }: { clock: Clock; silent_since: Temporal.Instant },
): Receiver {
  const answer = ({ url }: Request): Response => {
    const system = new URL(url).pathname.slice(1);
    if (!SYSTEMS.some((name) => name === system)) return new Response("No such system", { status: 404 });
    const is_silent = system === "crm" && Temporal.Instant.compare(clock.now(), silent_since) >= 0;
    return is_silent
      ? Response.json({ error: "Down for maintenance" }, { status: 503 })
      : Response.json({ received: true });
  };
  const listen = (at: number) => Bun.serve({ hostname: "127.0.0.1", port: at, fetch: answer });
  const server = listenAnywhere(listen, port);
  return { port: server.port ?? 0, stop: () => server.stop(true) };
}

/** Another program may have taken the port since. */
function listenAnywhere<T>(listen: (port: number) => T, port: number): T {
  if (port === 0) return listen(0);
  try {
    return listen(port);
  } catch {
    return listen(0);
  }
}

export const urlOf = (port: number, system: System) => `http://127.0.0.1:${port}/${system}`;
