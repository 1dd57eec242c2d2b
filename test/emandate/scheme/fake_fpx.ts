import {
  createPrivateKey,
  createPublicKey,
  createVerify,
  type KeyObject,
  X509Certificate,
} from "node:crypto";
import type { FpxAccount } from "../../../src/emandate/scheme/fpx.ts";
import { checksumText, signMessage } from "../../../src/emandate/scheme/fpx_messages.ts";
import { type Identity, makeIdentity, makeKey } from "../../support/certificates.ts";

/** What the stand-in was asked. */
export interface ReceivedRequest {
  path: string;
  fields: Record<string, string>;
}

type Answer = (asked: ReceivedRequest) => Response | Promise<Response>;

/** The scheme's endpoints on this machine: it checks what it is sent, and answers as it is told. */
export interface StandIn {
  url: string;
  account: FpxAccount;
  scheme: Identity;
  seller_key_pem: string;
  requests: ReceivedRequest[];
  /** How AE is answered from now on; `null` for the usual way. */
  answerStatus(how: Answer | null): void;
  answerBanks(how: Answer | null): void;
  /** A good AC for what was asked, but for these fields. */
  confirmation(request: Record<string, string>, other?: Record<string, string>): Record<string, string>;
  stop(): Promise<void>;
}

/** A body as the scheme writes it. */
export const written = (fields: Record<string, string>) => `\n${new URLSearchParams(fields).toString()}\n`;

export function openStandIn(): StandIn {
  const scheme = makeIdentity();
  const seller_key_pem = makeKey();
  const scheme_key = createPrivateKey(scheme.private_key_pem);
  const requests: ReceivedRequest[] = [];
  let status: Answer | null = null;
  let banks: Answer | null = null;

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname: path } = new URL(request.url);
      const fields = Object.fromEntries(new URLSearchParams(await request.text()));
      requests.push({ path, fields });
      if (path === "/FPXMain/sellerNVPTxnStatus.jsp") {
        if (!isSigned("AE", fields, seller_key_pem)) return new Response("ERROR");
        return status?.({ path, fields }) ?? new Response(written(confirmation(fields)));
      }
      if (path === "/FPXMain/RetrieveBankList") {
        if (!isSigned("BE", fields, seller_key_pem)) return new Response("ERROR");
        return (
          banks?.({ path, fields }) ??
          new Response(written(bankList(fields, "MB2U0227~A,BIMB0340~B,NEW001~A", scheme_key)))
        );
      }
      return new Response("Not found", { status: 404 });
    },
  });

  function confirmation(sent: Record<string, string>, other: Record<string, string> = {}) {
    const unsigned = { ...acFields(sent), ...other };
    return signMessage("AC", unsigned, scheme_key);
  }

  const url = `http://127.0.0.1:${server.port}`;
  return {
    url,
    scheme,
    seller_key_pem,
    requests,
    confirmation,
    account: {
      url,
      exchange_id: "EX00000001",
      seller_id: "SE00000001",
      seller_bank_code: "01",
      version: "7.0",
      private_key: createPrivateKey(seller_key_pem),
      certificate: new X509Certificate(scheme.certificate_pem),
    },
    answerStatus: (how) => void (status = how),
    answerBanks: (how) => void (banks = how),
    stop: () => server.stop(true),
  };
}

/** BC as it should be. */
export function bankList(sent: Record<string, string>, list: string, key: KeyObject): Record<string, string> {
  const { fpx_msgToken: msgToken = "", fpx_sellerExId: sellerExId = "" } = sent;
  return signMessage("BC", { bankList: list, msgToken, msgType: "BC", sellerExId }, key);
}

function acFields(sent: Record<string, string>): Record<string, string> {
  const told = Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [name.replace(/^fpx_/, ""), value]),
  );
  const { buyerBankId, buyerIban, buyerId, buyerName, makerName, msgToken, sellerExId, sellerExOrderNo } =
    told;
  const { sellerId, sellerOrderNo, sellerTxnTime, txnAmount, txnCurrency } = told;
  const echoed = {
    buyerBankId,
    buyerIban,
    buyerId,
    buyerName,
    makerName,
    msgToken,
    sellerExId,
    sellerExOrderNo,
  };
  const kept = { ...echoed, sellerId, sellerOrderNo, sellerTxnTime, txnAmount, txnCurrency };
  const own = {
    buyerBankBranch: "SBI BANK A",
    creditAuthCode: "",
    creditAuthNo: "",
    debitAuthCode: "00",
    debitAuthNo: "12345678",
    fpxTxnId: "1708171401020085",
    fpxTxnTime: "20261121090210",
    msgType: "AC",
  };
  return { ...Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, value ?? ""])), ...own };
}

/** Whether the seller signed it: by this code's order of fields, but with a key that it has not. */
function isSigned(type: "AE" | "BE", fields: Record<string, string>, seller_key_pem: string): boolean {
  const bare = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.replace(/^fpx_/, ""), value]),
  );
  return createVerify("RSA-SHA1")
    .update(checksumText(type, bare))
    .verify(createPublicKey(seller_key_pem), bare.checkSum ?? "", "hex");
}
