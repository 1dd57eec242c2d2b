import type { CollectionRun } from "../../../emandate/collections/model.ts";
import type { EmandateCustomer } from "../../../emandate/customers/model.ts";
import type { MandateFlag } from "../../../emandate/flags/model.ts";
import type { AmendmentPreview, Mandate } from "../../../emandate/mandates/model.ts";
import type { MerchantConfig } from "../../../emandate/merchant_config/model.ts";
import type { MandatePayment, MandatePaymentDetail } from "../../../emandate/payments/model.ts";
import type { EmandateProduct } from "../../../emandate/products/model.ts";
import type { RanScenario } from "../../../emandate/results/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";
import { MANDATES } from "../../ui/named_link.tsx";
import type { Source } from "../../ui/picker.tsx";

export const listMandates = MANDATES.from;
export const getMandate = MANDATES.one;
export const createMandate = post<typeof Mandate>("/emandate/mandates");
export const authorizeMandate = post<typeof Mandate>("/emandate/mandates/:id/authorize");
export const suspendMandate = post<typeof Mandate>("/emandate/mandates/:id/suspend");
export const resumeMandate = post<typeof Mandate>("/emandate/mandates/:id/resume");
export const cancelMandate = post<typeof Mandate>("/emandate/mandates/:id/cancel");
export const terminateMandate = post<typeof Mandate>("/emandate/mandates/:id/terminate");
export const withdrawRequest = post<typeof Mandate>("/emandate/mandates/:id/withdraw");
export const amendMandate = post<typeof Mandate>("/emandate/mandates/:id/amend");
export const previewAmendment = get<typeof AmendmentPreview>("/emandate/mandates/:id/amend/preview");

export const listPayments = list<typeof MandatePayment>("/emandate/payments");
export const getPayment = get<typeof MandatePaymentDetail>("/emandate/payments/:id");
export const createPayment = post<typeof MandatePaymentDetail>("/emandate/mandates/:id/payments");
export const retryPayment = post<typeof MandatePaymentDetail>("/emandate/payments/:id/retry");
export const cancelPayment = post<typeof MandatePaymentDetail>("/emandate/payments/:id/cancel");

export const listCollections = list<typeof CollectionRun>("/emandate/collections");
export const runCollection = post<typeof CollectionRun>("/emandate/collections/run");
export const listFlags = list<typeof MandateFlag>("/emandate/flags");
export const resolveFlag = post<typeof MandateFlag>("/emandate/flags/:id/resolve");

export const listCustomers = list<typeof EmandateCustomer>("/emandate/customers");
export const listProducts = list<typeof EmandateProduct>("/emandate/products");
export const createProduct = post<typeof EmandateProduct>("/emandate/products");
export const updateProduct = put<typeof EmandateProduct>("/emandate/products/:id");
export const deleteProduct = remove<typeof Nothing>("/emandate/products/:id");
export const getConfig = get<typeof MerchantConfig>("/emandate/config");
export const updateConfig = put<typeof MerchantConfig>("/emandate/config");
export const runScenario = post<typeof RanScenario>("/emandate/simulator/scenarios/:name/run");

export const PRODUCTS: Source<EmandateProduct> = {
  from: listProducts,
  one: get<typeof EmandateProduct>("/emandate/products/:id"),
  nameOf: ({ product_name }) => product_name,
};
