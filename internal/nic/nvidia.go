package nic

import _ "embed" // the script

//go:embed mlx5.sh
var mlx5Script string

// nvidia is ConnectX with mlnx_qos and cma_roce_tos of MLNX_OFED or DOCA: NVIDIA MLNX_OFED documentation, Quality of Service
// and Explicit Congestion Notification; stored options as mlxconfig names them.
func nvidia() Vendor {
	return Vendor{
		ID: "nvidia", Title: "ConnectX NICs (mlx5_core)", Drivers: []string{"mlx5_core"}, GIDIndex: 3,
		script: mlx5Script,
		omits: func(Settings) []string {
			return []string{"stored options (mlxconfig): run once: " + ScriptPath + " options"}
		},
	}
}
