-- Where companies shared a seller, one keeps it: one that debits through FPX, with a key of its own, the oldest.
-- The others' debits through FPX are refused until they have a seller of their own.
UPDATE emandate_configs SET exchange_id = NULL, seller_id = NULL
WHERE EXISTS (
  SELECT 1 FROM emandate_configs AS other
  WHERE other.exchange_id = emandate_configs.exchange_id AND other.seller_id = emandate_configs.seller_id
    AND (other.connector <> 'fpx', other.private_key_sealed IS NULL, other.company_id)
      < (emandate_configs.connector <> 'fpx', emandate_configs.private_key_sealed IS NULL, emandate_configs.company_id)
);
--> statement-breakpoint
DROP INDEX "emandate_configs_seller";--> statement-breakpoint
CREATE UNIQUE INDEX "emandate_configs_seller" ON "emandate_configs" USING btree ("exchange_id","seller_id");