CREATE TRIGGER `billing_records_no_overlap` BEFORE INSERT ON `billing_records`
WHEN NEW.`sequence` = 0 AND NEW.`billingStartAt` < (
  SELECT `before`.`billingEndAt` FROM `billing_records` AS `before`
  WHERE `before`.`subscription_id` = NEW.`subscription_id` AND `before`.`sequence` = 0
    AND `before`.`billingStartAt` < NEW.`billingEndAt` AND `before`.`billingStartAt` <> NEW.`billingStartAt`
  ORDER BY `before`.`billingStartAt` DESC LIMIT 1)
BEGIN
  SELECT RAISE(ABORT, 'billing_records_overlap');
END;
