/** For a server beside others: the system chooses its ports. */
export const ownPorts = {
  QUARTERDECK_LISTEN: '127.0.0.1:0',
  QUARTERDECK_SMTP_SUBMISSION: '127.0.0.1:0',
  QUARTERDECK_SMTPS: '127.0.0.1:0',
  QUARTERDECK_SMTP_INBOUND: '127.0.0.1:0',
  QUARTERDECK_CLUSTER_LISTEN: '127.0.0.1:0',
};
