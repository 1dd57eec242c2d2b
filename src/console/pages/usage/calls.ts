import type { Nothing } from "../../../core/schema.ts";
import type { UsageUpload, UsageUploadDetail } from "../../../usage/uploads/model.ts";
import { get, list, post, remove } from "../../api/call.ts";

export const listUploads = list<typeof UsageUpload>("/usage/imports/files");
export const getUpload = get<typeof UsageUploadDetail>("/usage/imports/:id");
export const runUpload = post<typeof UsageUploadDetail>("/usage/imports/:id/run");
export const stopUpload = post<typeof UsageUploadDetail>("/usage/imports/:id/stop");
export const deleteUpload = remove<typeof Nothing>("/usage/imports/:id");
