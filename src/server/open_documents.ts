import { join } from "node:path";
import type { Config } from "../core/config.ts";
import { BlobBucket } from "../store/blob_bucket.ts";
import { BlobFolder } from "../store/blob_folder.ts";
import type { BlobStore } from "../store/blob_store.ts";
import { S3Bucket } from "../store/s3_bucket.ts";
import type { Store } from "../store/store.ts";
import { findLink } from "../usage/store_link/queries.ts";
import { BACKUP } from "./backups.ts";

type DocumentsConfig = Pick<
  Config,
  "data_dir" | "documents_url" | "aws_access_key_id" | "aws_secret_access_key"
>;

/** Opens the place of documents. `checkRoom` throws while nothing may be stored. Nothing is asked of a bucket yet. */
export function openDocuments(config: DocumentsConfig, store: Store, checkRoom: () => void): BlobStore {
  const { documents_url, aws_access_key_id, aws_secret_access_key } = config;
  const isHeld = () => store.isLocked(BACKUP);
  const folder = new BlobFolder(join(config.data_dir, "documents"), isHeld, checkRoom);
  if (documents_url === null) return folder;
  const keys = { accessKeyId: aws_access_key_id ?? "", secretAccessKey: aws_secret_access_key ?? "" };
  return new BlobBucket(new S3Bucket(documents_url, keys), folder, async () => {
    const link = await findLink(store.read);
    if (!link) throw new Error("The database has no id: no server has used it yet");
    return link.database_id;
  });
}
