import { lookup } from "node:dns/promises";
import { addressProblem, literalAddresses, type DestinationPolicy } from "./rules.ts";

/** Asks for all addresses of a host. Errors: throws when there are none. */
export type Resolve = (hostname: string) => Promise<string[]>;

/** As the machine resolves names; IPv4 first, since fewer networks lack it. */
export const resolveHost: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true });
  return found.toSorted((a, b) => a.family - b.family).map(({ address }) => address);
};

/** A destination that must not be called; the message says why, without telling what a name resolved to. */
export class ForbiddenDestination extends Error {}

/**
 * The addresses under which a URL may be called. One forbidden address among them forbids all: who answers for
 * the name could otherwise choose. Errors: RefusedDestination, and whatever resolving throws.
 */
export async function addressesOf(
  url: URL,
  policy: DestinationPolicy,
  resolve: Resolve = resolveHost,
): Promise<string[]> {
  const addresses = literalAddresses(url) ?? (await resolve(url.hostname));
  for (const address of addresses) {
    const problem = addressProblem(address, url.protocol, policy);
    if (problem !== null) throw new ForbiddenDestination(problem);
  }
  return addresses;
}
