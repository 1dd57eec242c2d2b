import ipaddr from "ipaddr.js";

/** An address in its canonical form, without port and zone: `192.0.2.7`, `2001:db8::1`; null for what is none. */
export function readAddress(text: string): string | null {
  const [, inBrackets] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? [];
  const [, beforePort] = /^([\d.]+):\d+$/.exec(text) ?? [];
  const bare = (inBrackets ?? beforePort ?? text).replace(/%.*$/, "");
  if (!ipaddr.IPv4.isValidFourPartDecimal(bare) && !ipaddr.IPv6.isValid(bare)) return null;
  // An IPv4 address that came over an IPv6 socket is the IPv4 address.
  return ipaddr.process(bare).toString();
}

/**
 * The network that limits count an address under: an IPv4 address itself, the /64 of an IPv6 address, since one
 * subscriber has all its 2^64 addresses.
 */
export function networkOf(address: string | null): string {
  if (address === null) return "unknown";
  const read = readAddress(address);
  if (read === null) return address;
  const ip = ipaddr.parse(read);
  if (ip.kind() === "ipv4") return read;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${read}/64`).toString()}/64`;
}
