/** A certificate with its key, in PEM. */
export interface Pair {
  certificate: string;
  key: string;
}

/** Keys between the programs of a cluster. None of them is accepted for a node. */
export interface InnerKeys {
  /** Signs the programs' certificates. */
  authority: Pair;
  /** Signs the certificates that may set X-Remote headers: the front's, which apiservers also use for aggregated APIs. */
  frontAuthority: Pair;
  apiserver: Pair;
  front: Pair;
  admin: Pair;
  controllerManager: Pair;
  scheduler: Pair;
  /** Signed by the cluster's authority: kubelets trust no other. */
  kubeletClient: Pair;
  /** Absent: it has never run on etcd. */
  etcd?: EtcdKeys;
  /** Seals Secrets in the store: 32 bytes in base64. It never changes. */
  storeKey: string;
}

/** Keys between the members of a cluster's etcd and their clients. */
export interface EtcdKeys {
  authority: Pair;
  server: Pair;
  peer: Pair;
  client: Pair;
}

/** A cluster's keys and certificates, unsealed, in PEM. */
export interface Pki {
  caCertificate: string;
  caKey: string;
  servingCertificate: string;
  servingKey: string;
  accountKey: string;
  /** Only for the process driver. */
  inner: InnerKeys | undefined;
  revision: number;
}
