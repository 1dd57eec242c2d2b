import { below, type Endpoint } from "../api/call.ts";
import { me } from "../app/session.ts";

/** Whether who is signed in is a client's user, who sees that client's part. */
export const isClient = (): boolean => me.value?.role === "client";

/** Operations that a company and its clients have alike: those of who is signed in. */
export function callsByRole<Calls extends Record<string, Endpoint<unknown>>>(calls: Calls): () => Calls {
  const own = below("/my", calls);
  return () => (isClient() ? own : calls);
}
