import { lookup } from "node:dns/promises";
import { addressProblem, literalAddresses, type DestinationPolicy } from "./rules.ts";

/** Resolves a host to all its addresses. Errors: throws when there are none. */
export type Resolve = (hostname: string) => Promise<string[]>;

/** The machine's resolver; IPv4 first, since fewer networks lack it. */
export const resolveHost: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true });
  return found.toSorted((a, b) => a.family - b.family).map(({ address }) => address);
};

/** A destination that must not be called; the message says why, without the addresses of a name. */
export class ForbiddenDestination extends Error {}

/**
 * The addresses of a URL's host. One forbidden address among them forbids all, because the owner of the name could
 * otherwise choose. Errors: ForbiddenDestination, and those of `resolve`.
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
