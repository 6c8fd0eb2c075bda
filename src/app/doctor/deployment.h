// All servers of a configuration: one, those that sentinels name, or those of a cluster.
#pragma once

#include "src/app/doctor/chart.h"
#include "src/app/doctor/server.h"

namespace sluice::app::doctor {

/// Examines the sentinels and every server, replicas too.
void ExamineDeployment(const Examination& examination, const Tell& tell);

}  // namespace sluice::app::doctor
